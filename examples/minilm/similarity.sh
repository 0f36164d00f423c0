#!/bin/sh
# Tunes a pretrained encoder of sentences to find words by their definitions:
# similarity.sh [BUILD_DIR [WORK_DIR]]
# Exits with 77 where the encoder or WordNet cannot be had.
set -eu
here=$(dirname "$0")
name=minilm
. "$here/../common/places.sh"

"$here/../common/wordnet.sh" "$work"
folder=$("$here/encoder.sh" "$work")
"$here/../../scripts/python_packages.sh" "$work/encoder" numpy
rm -rf "$work"/pairs*.onnx "$work"/pairs*.ckpt "$work/adapter" "$work/encoder.onnx"
"$here/make_pairs.py" "$work/wordnet" "$work"
start=$(date +%s)

# Two texts for each row, an embedding of each.
"$ondine" import-hf "$folder" --pairs -o "$work/pairs.onnx"
"$ondine" prepare "$work/pairs.onnx" -o "$work/pairs_train.onnx" \
  --in-batch sentence_embedding,sentence_embedding_pair,0.05 --optimizer adamw \
  --learning-rate 0.001 --lora 8
"$ondine" train "$work/pairs_train.onnx" --data "$work/pairs_train.jsonl" --text-length 32 \
  --batch-size 64 --epochs 3 --schedule cosine --initialize --seed 1 --threads "$threads" \
  --checkpoint "$work/pairs.ckpt" -o "$work/pairs_tuned.onnx"

retrieval() {  # MODEL
  "$ondine" infer "$work/$1.onnx" --data "$work/pairs_test.jsonl" --text-length 32 --all-outputs \
    --threads "$threads" -o "$work/$1.csv" >/dev/null
  "$work/encoder/bin/python" "$here/retrieval.py" "$work/$1.csv" | tee "$work/$1.txt"
}
echo "before:" && retrieval pairs
echo "after:" && retrieval pairs_tuned

# The adapters beside an encoder of single texts, for use.
"$ondine" export "$work/pairs_train.onnx" --checkpoint "$work/pairs.ckpt" --adapter "$work/adapter"
"$ondine" import-hf "$folder" -o "$work/single.onnx"
"$ondine" infer "$work/single.onnx" --adapter "$work/adapter" --data "$work/pairs_test.jsonl" \
  --text-column text --text-length 32 -o "$work/single.csv" >/dev/null
echo "time: $(($(date +%s) - start)) s"
awk '$1 == "first" { result[++n] = $2 } END { exit !(n == 2 && result[2] > result[1] + 0.02) }' \
  "$work/pairs.txt" "$work/pairs_tuned.txt"
