#!/bin/sh
# Builds in DIST the sdist, and out of it the wheel for glibc 2.28 and later; refuses it where it needs
# more; says what it weighs; and tries it in an environment, ENV, that has nothing else, from outside of
# the checkout.
# Usage: try_wheel.sh DIST ENV
set -eu
bin=$PWD/.venv/bin dist=$PWD/$1 env=$PWD/$2
rm -rf "$dist" "$env"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags=$(sh scripts/old_glibc.sh "$work/glibc")
LDFLAGS=$flags "$bin/python" -m build --outdir "$dist" >/dev/null
# Named for the systems that it is for; refused where it needs more than these have.
PATH=$bin:$PATH "$bin/auditwheel" repair --plat "manylinux_2_28_$(uname -m)" \
    --wheel-dir "$work/named" "$dist"/*.whl
rm "$dist"/*.whl
mv "$work/named"/*.whl "$dist"
ls -l "$dist"
"$bin/auditwheel" show "$dist"/*.whl | tee "$dist/systems"

"$bin/python" -m venv "$env"
"$env/bin/pip" install --quiet --disable-pip-version-check "$dist"/*.whl
"$env/bin/pip" list --format=freeze --disable-pip-version-check
du -sm "$env"/lib/python*/site-packages
if readelf -d "$env"/lib/python*/site-packages/halftrip/*.so* \
    "$env"/lib/python*/site-packages/halftrip/bare_loops | grep -E 'R(UN)?PATH'; then
    exit 1
fi
# auditwheel looks at versions: what has none has to be Python's, or may be missing (weak).
if objdump -T "$env"/lib/python*/site-packages/halftrip/*.so* \
    "$env"/lib/python*/site-packages/halftrip/bare_loops |
    grep -E 'UND\*[[:space:]]+[0-9a-f]+[[:space:]]+[^ ]+$' | grep -vE ' w |[[:space:]]_?Py[^ ]*$'; then
    exit 1
fi
cd "$work"
"$env/bin/halftrip" --version --verbose
"$env/bin/halftrip" run --no-config -t shm,pipe,unix,tcp,udp -s 8 --time 20ms --launches 1
# The tools of the tests, and not the halftrip that is beside them: what a .pth file names has no .pth
# files of its own.
"$bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
    >"$("$env/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/tools.pth"
