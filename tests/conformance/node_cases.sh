#!/bin/sh
# node_cases.sh ONDINE SOURCE WORK [OPTION...]: runs the node cases of the package `onnx` from PyPI,
# which it installs and exports below WORK. Exits with 77, which ctest counts as skipped, where PyPI
# cannot be reached.
set -eu
ondine=$1
source=$2
work=$3
shift 3
mkdir -p "$work"
"$source/scripts/python_packages.sh" "$work/python" -r "$source/tests/conformance/requirements.txt"
"$work/python/bin/python" "$source/tools/dev/export_node_cases.py" "$work/node_cases"
"$work/python/bin/python" "$source/tools/dev/generate_signatures.py" --list-new
exec "$ondine" verify "$work/node_cases" "$@"
