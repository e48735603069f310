#!/bin/sh
# Prints what is missing to build halftrip, and the packages of Debian and Fedora that have it.
# Usage: needs.sh PYTHON
python=$1
missing=0

need() { # what, Debian's package, Fedora's package
    echo "halftrip needs $1: apt install $2 (Debian, Ubuntu), dnf install $3 (Fedora)" >&2
    missing=1
}

if ! command -v "$python" >/dev/null; then
    need "Python 3.11 or newer" python3 python3
elif ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    need "Python 3.11 or newer ($python is $("$python" -c 'import platform; print(platform.python_version())')); or name another with make PYTHON=..." python3.11 python3.11
else
    "$python" -c 'import ensurepip, venv' 2>/dev/null || need "Python's venv" python3-venv python3
    header=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h
    [ -e "$header" ] || need "Python's headers ($header)" python3-dev python3-devel
fi
compiler=${CXX:-c++}
if ! command -v "$compiler" >/dev/null; then
    need "a C++20 compiler" g++ gcc-c++
elif ! echo 'template <class T> concept C = true; int main() {}' | "$compiler" -std=c++20 -x c++ - -fsyntax-only 2>/dev/null; then
    need "a C++20 compiler ($compiler is too old)" g++ gcc-c++
fi
if [ $missing = 1 ]; then
    echo "or install a wheel, which needs no compiler: pip install halftrip-*.whl (docs/installing.md)" >&2
fi
exit $missing
