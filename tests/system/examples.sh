#!/bin/sh
# Runs every example: examples.sh SOURCE_DIR BUILD_DIR
set -eu
source=$1
build=$2
data=${ONDINE_DATA:-/usr/share/datasets/fashion-mnist}
work=$build/examples_test
if [ ! -d "$data" ]; then
  echo "skipped: no data in $data"
  exit 77
fi
"$source/examples/fashion_mnist/run.sh" "$build" "$work"
"$build/bin/example_train_loop" "$work/train.onnx" "$data" "$work/loop.onnx"
"$build/bin/ondine" eval "$work/loop.onnx" --data "$data" | tee "$work/loop.txt"
awk '{ exit !($1 == "accuracy" && $2 > 0.8) }' "$work/loop.txt"
"$build/bin/example_finetune" "$work/cnn.onnx" "$data" "$work/tuned.onnx"
"$build/bin/ondine" eval "$work/tuned.onnx" --data "$data" | tee "$work/tuned.txt"
awk '{ exit !($1 == "accuracy" && $2 > 0.8) }' "$work/tuned.txt"
"$build/bin/example_c" "$work/cnn.onnx" "$data" "$work/c.onnx"
"$build/bin/ondine" eval "$work/c.onnx" --data "$data" | tee "$work/c.txt"
awk '{ exit !($1 == "accuracy" && $2 > 0.8) }' "$work/c.txt"
"$build/bin/example_personalize" "$data" "$work/personal.onnx" | tee "$work/personal.txt"
# 20 images of each class are enough for two thirds.
awk '/classes 0-9/ { found = $NF > 0.66 } END { exit !found }' "$work/personal.txt"
