#!/bin/sh
# Ten nodes of one machine in Flower's simulation: simulate.sh [BUILD_DIR [WORK_DIR]]
set -eu
work=${2:-${1:-build}/federated_simulation}
. "$(dirname "$0")/setup.sh"
"$python" -B "$here/split.py" "$data" "$work" 10 0.5 12000 2000
start=$(date +%s)
"$python" -B "$here/federation.py" "$ondine" "$work" 0 ray 3
echo "time: $(($(date +%s) - start)) s"
"$ondine" eval "$work/final.onnx" --data "$work/test" | tee "$work/eval.txt"
awk '$1 == "accuracy" { found = $2 >= 0.5 } END { if (!found) { print "below 50 %"; exit 1 } }' \
  "$work/eval.txt"
echo "ten simulated nodes trained one model"
