#!/bin/sh
# Installs what is missing, builds with every warning an error, checks the sources and runs all
# tests.
set -eu
cd "$(dirname "$0")/.."
scripts/install_dependencies.sh
tools/dev/check_layers.py
tools/dev/check_operators.py
tools/dev/check_format.sh
cmake --preset release -DONDINE_WERROR=ON
cmake --build --preset release
ctest --preset release
