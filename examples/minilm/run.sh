#!/bin/sh
# Tunes a pretrained encoder of sentences to tell spam from other mail: run.sh [BUILD_DIR [WORK_DIR]]
# Exits with 77 where the encoder or the mails cannot be had.
set -eu
here=$(dirname "$0")
name=minilm
. "$here/../common/places.sh"

"$here/../common/mails.sh" "$work"
folder=$("$here/encoder.sh" "$work")
rm -f "$work/net.onnx" "$work/tuned.onnx"
start=$(date +%s)

"$ondine" import-hf "$folder" -o "$work/net.onnx"
for part in train test; do
  awk 'NR % 3 == 0' "$work/mails_$part.jsonl" >"$work/$part.jsonl"
done
"$ondine" finetune "$work/net.onnx" --data "$work/train.jsonl" --lora 8 --text-length 64 \
  --epochs 2 --refit never --threads "$threads" -o "$work/tuned.onnx"
"$ondine" eval "$work/tuned.onnx" --data "$work/test.jsonl" --threads "$threads" \
  --metrics accuracy,f1 | tee "$work/scores.txt"
cat >"$work/new.jsonl" <<'END'
{"text": "FREE!!! Click here and earn $5000 a week from home. 100% guaranteed, no risk."}
{"text": "Hi Tom,\n\nthe patch applies, but the test of the parser still fails with gcc 3.2.\n"}
END
"$ondine" infer "$work/tuned.onnx" --data "$work/new.jsonl"
echo "time: $(($(date +%s) - start)) s"
awk '$1 == "accuracy" { found = $2 > 0.9 } END { exit !found }' "$work/scores.txt"
