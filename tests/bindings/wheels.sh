#!/bin/sh
# Installs the wheels of scripts/wheels.sh (or those in the folder WHEELS) in clean virtual
# environments of each Python that is there, and runs the tests of the package and the command line in
# each: wheels.sh MODELS WORK. MODELS: folder made by build/bin/bindings_models. Not part of ctest, as
# the wheels take an hour to build.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
models=$(cd "$1" && pwd)
mkdir -p "$2"
work=$(cd "$2" && pwd)
wheels=$(cd "${WHEELS:-$source/build-wheels/dist}" && pwd)
ran=
for version in 3.10 3.11 3.12 3.13 3.14; do
  for python in "python$version" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$version".*/bin/python; do
    "$python" -c '' 2>/dev/null || continue
    echo "Python $version"
    clean=$work/clean-$version
    rm -rf "$clean"
    PYTHON=$python "$source/scripts/python_packages.sh" "$clean" numpy pytest pandas polars pyarrow
    "$clean/bin/pip" install -q --no-index --find-links "$wheels" ondine-train
    (cd "$work" && ONDINE_MODELS=$models "$clean/bin/python" -B -m pytest -q -p no:cacheprovider \
      "$source/bindings/python/tests")
    "$clean/bin/ondine" --version
    ran="$ran $version"
    break
  done
done
[ -n "$ran" ] || { echo "no Python from 3.10 on in PATH or pyenv" >&2; exit 1; }
echo "passed:$ran"
