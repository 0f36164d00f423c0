#!/bin/sh
# From arrays in .npz files to a classifier: run.sh [BUILD_DIR [WORK_DIR]]
set -eu
here=$(dirname "$0")
build=${1:-build}
work=${2:-$build/digits}
ondine=$build/bin/ondine
mkdir -p "$work"
source=$("$here/../common/sklearn_data.sh" "$work")
"$here/make_arrays.py" "$source" "$work/data"
start=$(date +%s)

"$build/bin/example_make_mlp" 64 10 "$work/net.onnx"
"$ondine" prepare "$work/net.onnx" -o "$work/train.onnx" --loss softmax-cross-entropy \
  --optimizer adam --learning-rate 0.01
"$ondine" train "$work/train.onnx" --data "$work/data/train.npz" "$work/data/test.npz" \
  --epochs 40 --batch-size 32 --schedule cosine --seed 1 --initialize -o "$work/tuned.onnx"
"$ondine" eval "$work/tuned.onnx" --data "$work/data/test.npz" --metrics accuracy,f1 |
  tee "$work/eval.txt"
echo "time: $(($(date +%s) - start)) s"
awk '$1 == "accuracy" { found = $2 >= 0.96 } END { if (!found) { print "below 96 %"; exit 1 } }' \
  "$work/eval.txt"
