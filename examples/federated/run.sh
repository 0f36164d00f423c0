#!/bin/sh
# Two nodes of Ondine and two in Python in one federation: run.sh [BUILD_DIR [WORK_DIR]]
set -eu
work=${2:-${1:-build}/federated_example}
. "$(dirname "$0")/setup.sh"
"$python" -B "$here/split.py" "$data" "$work" 4 0.5 12000 2000
start=$(date +%s)
"$python" -B "$here/federation.py" "$ondine" "$work" 2 2 3
echo "time: $(($(date +%s) - start)) s"
"$ondine" eval "$work/final.onnx" --data "$work/test" | tee "$work/eval.txt"
awk '$1 == "accuracy" { found = $2 >= 0.6 } END { if (!found) { print "below 60 %"; exit 1 } }' \
  "$work/eval.txt"
echo "four nodes trained one model"
