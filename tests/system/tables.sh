#!/bin/sh
# tables.sh SOURCE BUILD: models of tables in ONNX Runtime, which takes the raw columns by name.
set -eu
work=$2/tables
mkdir -p "$work"
"$1/scripts/python_packages.sh" "$work/python" onnx onnxruntime numpy
exec "$work/python/bin/python" "$1/tests/system/tables.py" "$2/bin/ondine" "$work"
