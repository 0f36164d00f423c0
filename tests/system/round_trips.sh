#!/bin/sh
# round_trips.sh ONDINE SOURCE WORK: trains on every kind of data, exports, and compares with
# onnxruntime from PyPI, which it installs below WORK. Exits with 77, which ctest counts as skipped,
# where PyPI cannot be reached.
set -eu
"$2/scripts/python_packages.sh" "$3/round_trips" onnx onnxruntime numpy pillow sentencepiece
exec "$3/round_trips/bin/python" -B "$2/tools/dev/check_round_trips.py" "$1"
