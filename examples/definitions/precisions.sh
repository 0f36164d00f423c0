#!/bin/sh
# Trains the adapters of run.sh in each precision, and prints the losses and the perplexity of other
# definitions: precisions.sh [BUILD_DIR [WORK_DIR]]
# Exits with 77 where the texts cannot be had.
set -eu
here=$(dirname "$0")
name=definitions
. "$here/../common/places.sh"

"$here/texts.sh" "$work"
texts=$work/texts
rm -f "$work"/*.onnx "$work"/*.ckpt
"$ondine" import-hf "$here/model" -o "$work/base.onnx" >/dev/null
"$ondine" prepare "$work/base.onnx" -o "$work/train.onnx" --loss softmax-cross-entropy \
  --ignore-index -100 --optimizer adamw --learning-rate 0.003 --packing --lora 16 --lora-alpha 32 >/dev/null
perplexity() {  # MODEL PRECISION
  "$ondine" eval "$work/$1.onnx" --data "$texts/definitions_val.jsonl" --text-length 128 \
    --ignore-index -100 --metrics perplexity --threads "$threads" --precision "$2" 2>/dev/null |
    awk '$1 == "perplexity" { print $2 }'
}
for precision in float32 bf16 int8; do
  "$ondine" train "$work/train.onnx" --data "$texts/definitions_train.jsonl" --text-length 128 \
    --pack --batch-size 16 --epochs 1 --schedule cosine --warmup 0.05 --initialize --seed 1 \
    --threads "$threads" --precision "$precision" \
    -o "$work/$precision.onnx" >"$work/$precision.txt" 2>&1
  grep -h "^epoch" "$work/$precision.txt"
  echo "$precision: perplexity before $(perplexity base "$precision")," \
    "after $(perplexity "$precision" "$precision"), in float32 $(perplexity "$precision" float32)"
done
