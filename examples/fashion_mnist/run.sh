#!/bin/sh
# From an inference model to a trained one on Fashion-MNIST: run.sh [BUILD_DIR [WORK_DIR]]
set -eu
build=${1:-build}
work=${2:-$build/fashion_mnist}
data=${ONDINE_DATA:-/usr/share/datasets/fashion-mnist}
ondine=$build/bin/ondine
threads=$(nproc)
[ -d "$data" ] || { echo "no data in $data; install the package dataset-fashion-mnist" >&2; exit 1; }
mkdir -p "$work"
rm -f "$work"/*
start=$(date +%s)

"$build/bin/example_make_cnn" "$work/cnn.onnx"
"$ondine" prepare "$work/cnn.onnx" -o "$work/train.onnx" \
  --loss softmax-cross-entropy --optimizer adam --learning-rate 0.001

set -- "$work/train.onnx" --data "$data" --batch-size 64 --seed 1 --threads "$threads" \
  --checkpoint "$work/run.ckpt" --metrics "$work/metrics.jsonl" -o "$work/trained.onnx"

# Interrupted as with Ctrl-C in the middle of an epoch, then resumed.
# A shell starts programs in the background with SIGINT ignored, which they keep.
env --default-signal=INT "$ondine" train "$@" --epochs 4 --initialize &
pid=$!
until [ -s "$work/metrics.jsonl" ] || ! kill -0 $pid 2>/dev/null; do sleep 1; done
sleep 1
kill -INT $pid
if wait $pid; then
  echo "the run was not interrupted" >&2
  exit 1
fi
"$ondine" train "$@" --epochs 4 --resume
# Two more epochs with a smaller rate.
"$ondine" train "$@" --epochs 6 --resume --learning-rate 0.0002

echo "the exported model, loaded anew:"
"$ondine" eval "$work/trained.onnx" --data "$data" --threads "$threads" | tee "$work/accuracy.txt"
echo "time: $(($(date +%s) - start)) s"
awk '{ if ($1 != "accuracy" || $2 < 0.9) { print "below 90 %"; exit 1 } }' "$work/accuracy.txt"
