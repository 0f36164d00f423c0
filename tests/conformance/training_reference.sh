#!/bin/sh
# training_reference.sh SOURCE WORK: runs the training conformance suite with its reference runtime
# and with broken ones, after it installed the package `onnx` from PyPI below WORK. Exits with 77,
# which ctest counts as skipped, where PyPI cannot be reached.
set -eu
source=$1
work=$2
mkdir -p "$work"
"$source/scripts/python_packages.sh" "$work/python" -r "$source/tests/conformance/requirements.txt"
python=$work/python/bin/python
"$python" -B "$source/conformance/run.py" --runner reference --none-skipped
exec "$python" -B -W ignore "$source/conformance/broken_runtimes.py"
