#!/bin/sh
# Teaches a small language model to define words, with adapters: run.sh [BUILD_DIR [WORK_DIR]]
# Exits with 77 where the texts cannot be had.
set -eu
here=$(dirname "$0")
name=definitions
. "$here/../common/places.sh"

"$here/texts.sh" "$work"
texts=$work/texts
rm -rf "$work"/*.onnx "$work"/*.ckpt "$work/adapter"
start=$(date +%s)

"$ondine" import-hf "$here/model" -o "$work/base.onnx"
perplexity() {  # MODEL TEXTS
  "$ondine" eval "$work/$1.onnx" --data "$texts/$2" --text-length 128 --ignore-index -100 \
    --metrics perplexity --threads "$threads" 2>/dev/null | awk '$1 == "perplexity" { print $2 }'
}
define() {  # MODEL WORD
  printf '%s: ' "$2"
  "$ondine" generate "$work/$1.onnx" --prompt "define: $2
" --max-tokens 30 --temperature 0 2>/dev/null | tr '\n' ' '
  echo
}
bible_before=$(perplexity base king_james_val.txt)
definitions_before=$(perplexity base definitions_val.jsonl)

# Several definitions share a row of 128 tokens, and none reads another.
"$ondine" prepare "$work/base.onnx" -o "$work/train.onnx" --loss softmax-cross-entropy \
  --ignore-index -100 --optimizer adamw --learning-rate 0.003 --packing --lora 16 --lora-alpha 32
"$ondine" train "$work/train.onnx" --data "$texts/definitions_train.jsonl" --text-length 128 --pack \
  --batch-size 16 --epochs 1 --schedule cosine --warmup 0.05 --initialize --seed 1 \
  --threads "$threads" --checkpoint "$work/run.ckpt" -o "$work/tuned.onnx"
"$ondine" export "$work/train.onnx" --checkpoint "$work/run.ckpt" --adapter "$work/adapter"

# An adapter that counts 0 times leaves the scores of the base but for rounding: with the adapter's
# nodes other products are computed together.
"$here/scores.py" ids "$work/ids.npy"
set -- "$work/base.onnx" --input "input_ids=$work/ids.npy"
"$ondine" infer "$@" -o "$work/base_scores" >/dev/null
"$ondine" infer "$@" -o "$work/off_scores" --adapter "$work/adapter=0" >/dev/null
"$ondine" infer "$@" -o "$work/on_scores" --adapter "$work/adapter" >/dev/null
scores() {
  "$here/scores.py" distance "$work/base_scores/logits.npy" "$work/$1_scores/logits.npy"
}
off=$(scores off)
on=$(scores on)
echo "scores beside those of the base: $off with the adapter off, $on with it"

echo "before:"
for word in river teacher hammer; do define base "$word"; done
echo "after:"
for word in river teacher hammer; do define tuned "$word"; done
bible_after=$(perplexity tuned king_james_val.txt)
definitions_after=$(perplexity tuned definitions_val.jsonl)
echo "perplexity of a token   before $definitions_before after $definitions_after  definitions"
echo "perplexity of a token   before $bible_before after $bible_after  King James"
echo "time: $(($(date +%s) - start)) s"
awk -v before="$definitions_before" -v after="$definitions_after" -v off="$off" -v on="$on" \
  -v bible="$bible_before" -v bible_after="$bible_after" 'BEGIN {
    exit !(bible > 1 && bible_after > 1 && after > 1 && after < 0.5 * before &&
           off < 1e-5 && on > 0.01) }'
