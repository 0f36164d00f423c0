#!/bin/sh
# Prints the folder with the tables that scikit-learn ships: sklearn_data.sh WORK
# It is $ONDINE_TABLES, or comes from PyPI and lies in WORK. Exits with 77 when it cannot be had.
set -eu
if [ -n "${ONDINE_TABLES:-}" ]; then
  echo "$ONDINE_TABLES"
  exit
fi
# The files alone: no package that they need in Python.
"$(dirname "$0")/../../scripts/python_packages.sh" "$1/sklearn" --no-deps scikit-learn >&2
find "$1/sklearn" -path '*/sklearn/datasets/data' | head -1
