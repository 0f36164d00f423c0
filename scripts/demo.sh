#!/bin/sh
# Installs missing packages, builds, and trains a small CNN on 60,000 real images.
set -eu
cd "$(dirname "$0")/.."
scripts/install_dependencies.sh
cmake --preset release
cmake --build --preset release --target ondine_cli example_make_cnn
examples/fashion_mnist/run.sh build
