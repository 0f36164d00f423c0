#!/bin/sh
# A hundred nodes of Flower's simulation with Ondine, with PyTorch and with clients that do nothing:
# run.sh [BUILD_DIR [WORK_DIR]]. Installs Flower and PyTorch, which is large, in BUILD/examples_flower.
# Takes about 10 minutes on two cores.
set -eu
here=$(dirname "$0")/../../examples/federated
work=${2:-${1:-build}/federation_bench}
. "$here/setup.sh"
"$here/../../scripts/python_packages.sh" "$build/examples_flower" torch
rm -rf "$work"/part*
"$python" -B "$here/split.py" "$data" "$work" 100 0.3
"$python" -B "$here/../../bench/federation/compare.py" --measure "$work"
