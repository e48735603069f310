#!/bin/sh
# Builds the sdist, and the wheel out of it, in DIST; says which systems the wheel is for, and what it
# weighs; and tries it in an environment, ENV, that has nothing else, from outside of the checkout.
# Usage: try_wheel.sh DIST ENV
set -eu
bin=$PWD/.venv/bin dist=$PWD/$1 env=$PWD/$2
rm -rf "$dist" "$env"
"$bin/python" -m build --outdir "$dist" >/dev/null
ls -l "$dist"
# It needs nothing but what every such system has, and names no place of this one.
"$bin/auditwheel" show "$dist"/*.whl | tee "$dist/systems"
grep -q '"manylinux_' "$dist/systems"

"$bin/python" -m venv "$env"
"$env/bin/pip" install --quiet --disable-pip-version-check "$dist"/*.whl
"$env/bin/pip" list --format=freeze --disable-pip-version-check
du -sm "$env"/lib/python*/site-packages
if readelf -d "$env"/lib/python*/site-packages/halftrip/*.so* \
    "$env"/lib/python*/site-packages/halftrip/bare_loops | grep -E 'R(UN)?PATH'; then
    exit 1
fi
elsewhere=$(mktemp -d)
trap 'rm -rf "$elsewhere"' EXIT
cd "$elsewhere"
"$env/bin/halftrip" --version --verbose
"$env/bin/halftrip" run --no-config -t shm,pipe,unix,tcp,udp -s 8 --time 20ms
# The tools of the tests, and not the halftrip that is beside them: what a .pth file names has no .pth
# files of its own.
"$bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
    >"$("$env/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/tools.pth"
