#!/bin/sh
# From drawn images and masks to a segmentation: run.sh [BUILD_DIR [WORK_DIR]]
set -eu
here=$(dirname "$0")
build=${1:-build}
work=${2:-$build/segmentation}
ondine=$build/bin/ondine
mkdir -p "$work"
data=$work/data
"$here/draw.py" "$data"
start=$(date +%s)

"$build/bin/example_make_unet" "$work/unet.onnx"
"$ondine" prepare "$work/unet.onnx" -o "$work/train.onnx" --loss softmax-cross-entropy \
  --optimizer adam --learning-rate 0.004 --preprocess scale=1/255,layout=nchw
# Masks move with the images.
"$ondine" train "$work/train.onnx" --data "$data" --augment flip,flip-vertical --epochs 15 \
  --batch-size 16 --seed 1 --initialize --metrics accuracy,iou,dice -o "$work/tuned.onnx"
"$ondine" eval "$work/tuned.onnx" --data "$data" --metrics accuracy,iou,dice | tee "$work/eval.txt"
echo "time: $(($(date +%s) - start)) s"
awk '$1 == "iou" { found = $2 >= 0.8 } END { if (!found) { print "IoU below 0.8"; exit 1 } }' \
  "$work/eval.txt"
