#!/bin/sh
# From folders of recordings to a classifier of languages: run.sh [BUILD_DIR [WORK_DIR]]
set -eu
here=$(dirname "$0")
build=${1:-build}
work=${2:-$build/language}
sounds=${ONDINE_SOUNDS:-/usr/share/asterisk/sounds}
ondine=$build/bin/ondine
mkdir -p "$work"
data=$work/sounds
"$here/make_folders.py" "$sounds" "$data"
start=$(date +%s)

"$build/bin/example_make_sound_cnn" "$work/cnn.onnx"
# The model takes two seconds of raw samples.
"$ondine" prepare "$work/cnn.onnx" -o "$work/train.onnx" --loss softmax-cross-entropy \
  --optimizer adam --learning-rate 0.002 \
  --preprocess mel=40,rate=8000,window=256,hop=128,low=60,mean=-4,std=4
"$ondine" train "$work/train.onnx" --data "$data" --augment time-shift=0.1,noise=0.05 --epochs 12 \
  --schedule cosine --batch-size 32 --seed 1 --initialize -o "$work/tuned.onnx"

"$ondine" eval "$work/tuned.onnx" --data "$data" | tee "$work/eval.txt"
# shellcheck disable=SC2046
"$ondine" infer "$work/tuned.onnx" --top 2 --data $(find "$data/val/it" -name '*.wav' | sort | head -5)
echo "time: $(($(date +%s) - start)) s"
awk '$1 == "accuracy" { found = $2 >= 0.9 } END { if (!found) { print "below 90 %"; exit 1 } }' \
  "$work/eval.txt"
