#!/bin/sh
# Makes the folder `model` of this example again: pretrain.sh [BUILD_DIR [WORK_DIR [FOLDER]]]
# Takes about 15 minutes with one thread. The same bits come out on processors with the same
# instructions; those of the folder were made with AVX-512 and bfloat16.
# With STEPS=N in the environment each of the two trainings ends after N steps, and FOLDER is
# WORK_DIR/model if absent, to try the script out.
set -eu
here=$(dirname "$0")
build=${1:-build}
work=${2:-$build/definitions_pretraining}
folder=${3:-${STEPS:+$work/model}}
folder=${folder:-$here/model}
ondine=$build/bin/ondine
mkdir -p "$work"
work=$(cd "$work" && pwd)

"$here/texts.sh" "$work"
"$here/../../scripts/python_packages.sh" "$work/python" numpy==2.4.6 tokenizers==0.23.3
"$work/python/bin/python" "$here/make_model.py" start "$work/texts" "$work/start"
"$ondine" import-hf "$work/start" -o "$work/net.onnx"
"$ondine" prepare "$work/net.onnx" -o "$work/train.onnx" --loss softmax-cross-entropy \
  --optimizer adamw --learning-rate 0.003 --beta2 0.99 --weight-decay 0.1 --clip-norm 1 --init keep
# The first part of a run of eight epochs, then one epoch in which the rate falls to zero.
train() {
  "$ondine" train "$@" --data "$work/texts/pretrain.txt" "$work/texts/pretrain_val.txt" \
    --text-length 128 --batch-size 16 --schedule cosine --precision bf16 --metrics perplexity \
    --overwrite
}
train "$work/train.onnx" --epochs 8 --max-steps "${STEPS:-3433}" --warmup 0.02 --initialize --seed 58 \
  --checkpoint "$work/first.ckpt"
"$ondine" export "$work/train.onnx" --checkpoint "$work/first.ckpt" --training -o "$work/last.onnx"
train "$work/last.onnx" --epochs 1 ${STEPS:+--max-steps "$STEPS"} --learning-rate 0.0012 --seed 59 \
  --checkpoint "$work/last.ckpt"
"$ondine" export "$work/last.onnx" --checkpoint "$work/last.ckpt" -o "$work/trained.safetensors"
"$work/python/bin/python" "$here/make_model.py" finish "$work/trained.safetensors" "$work/start" "$folder"
