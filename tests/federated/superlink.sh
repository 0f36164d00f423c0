#!/bin/sh
# superlink.sh ONDINE SOURCE WORK SCRIPT: runs tests/federated/SCRIPT.py, a test with the SuperLink of
# Flower from PyPI, which it installs below WORK. Exits with 77, which ctest counts as skipped, where
# PyPI cannot be reached.
set -eu
"$2/scripts/python_packages.sh" "$3/federated" "flwr==1.42.0" numpy
exec "$3/federated/bin/python" -B "$2/tests/federated/$4.py" "$1" "$3/federated_$4"
