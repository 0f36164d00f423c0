#!/bin/sh
# From a folder of PNGs to a classifier of files: run.sh [BUILD_DIR [WORK_DIR]]
set -eu
here=$(dirname "$0")
build=${1:-build}
work=${2:-$build/image_folder}
source=${ONDINE_DATA:-/usr/share/datasets/fashion-mnist}
ondine=$build/bin/ondine
[ -d "$source" ] || { echo "skipped: no data in $source (package dataset-fashion-mnist)" >&2; exit 77; }
mkdir -p "$work"
data=$work/photos
[ -d "$data/val/boot" ] || "$here/make_folder.py" "$source" "$data"
start=$(date +%s)

"$build/bin/example_make_cnn" "$work/cnn.onnx"
# The model takes the bytes of the pixels.
"$ondine" prepare "$work/cnn.onnx" -o "$work/train.onnx" --loss softmax-cross-entropy \
  --optimizer adam --learning-rate 0.001 --preprocess scale=1/255
"$ondine" train "$work/train.onnx" --data "$data" --augment flip --epochs 3 --batch-size 64 \
  --seed 1 --initialize -o "$work/tuned.onnx" | tee "$work/train.txt"

"$ondine" eval "$work/tuned.onnx" --data "$data" | tee "$work/eval.txt"
# Ten files, the names of the classes and their probabilities.
# shellcheck disable=SC2046
"$ondine" infer "$work/tuned.onnx" --top 3 --data $(find "$data/val/boot" -name '*.png' | sort | head -10)
echo "time: $(($(date +%s) - start)) s"
awk '$1 == "accuracy" { found = $2 >= 0.88 } END { if (!found) { print "below 88 %"; exit 1 } }' \
  "$work/eval.txt"
