#!/bin/sh
# training_reference.sh SOURCE WORK: runs the training conformance suite with its reference runtime,
# after it installed the package `onnx` from PyPI below WORK. Exits with 77, which ctest counts as
# skipped, where PyPI cannot be reached.
set -eu
source=$1
work=$2
mkdir -p "$work"
"$source/scripts/python_packages.sh" "$work/python" -r "$source/tests/conformance/requirements.txt"
exec python3 -B "$source/conformance/run.py" --runner reference --python "$work/python/bin/python" \
  --none-skipped
