#!/bin/sh
# Builds the wheel over the library of BUILD, installs it in a clean virtual environment and runs its
# tests and mypy there: python.sh SOURCE BUILD WORK. Exits with 77, which ctest counts as skipped,
# where PyPI cannot be reached or Python has no headers.
set -eu
source=$1
build=$2
work=$3
"$source/scripts/local_wheel.sh" "$build" "$work"
rm -rf "$work/clean"
"$source/scripts/python_packages.sh" "$work/clean" numpy pytest mypy pandas polars pyarrow
"$work/clean/bin/pip" install -q --no-deps "$work"/wheels/*.whl
"$build/bin/bindings_models" "$work/models"
cp "$source/bindings/python/tests/typing_check.py" "$work"
cd "$work"
ONDINE_MODELS=$work/models "$work/clean/bin/python" -B -m pytest -q -p no:cacheprovider \
  "$source/bindings/python/tests"
"$work/clean/bin/mypy" --strict -p ondine_train
"$work/clean/bin/mypy" --strict typing_check.py
