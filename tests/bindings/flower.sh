#!/bin/sh
# Tests ondine_train.flower with the wheel that python.sh built in WORK and Flower from PyPI:
# flower.sh SOURCE BUILD WORK. Exits with 77, which ctest counts as skipped, where there is no wheel
# because python.sh was skipped, or where PyPI cannot be reached.
set -eu
source=$1
build=$2
work=$3
if ! ls "$work"/wheels/*.whl >/dev/null 2>&1; then
  echo "skipped: no wheel in $work/wheels"
  exit 77
fi
"$source/scripts/python_packages.sh" "$work/flower" numpy pytest mypy "flwr==1.42.0"
"$work/flower/bin/pip" install -q --no-deps --force-reinstall "$work"/wheels/*.whl
"$build/bin/bindings_models" "$work/models"
cd "$work"
FLWR_TELEMETRY_ENABLED=0 ONDINE_MODELS=$work/models "$work/flower/bin/python" -B -m pytest -q \
  -p no:cacheprovider "$source/bindings/python/tests/test_flower.py"
"$work/flower/bin/mypy" --strict -m ondine_train.flower
