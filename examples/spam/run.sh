#!/bin/sh
# Tells spam from other mail by the text: run.sh [BUILD_DIR [WORK_DIR]]
# Exits with 77 where the mails cannot be had.
set -eu
here=$(dirname "$0")
name=spam
. "$here/../common/places.sh"

"$here/../common/mails.sh" "$work"
rm -f "$work"/*.onnx "$work"/*.html
start=$(date +%s)

"$build/bin/example_make_spam" "$work/net.onnx"
"$ondine" prepare "$work/net.onnx" -o "$work/train.onnx" --loss softmax-cross-entropy \
  --optimizer adam --learning-rate 0.002 --init uniform --class-weights balanced \
  --data "$work/mails_train.jsonl"
set -- "$work/train.onnx" --data "$work/mails_train.jsonl" "$work/mails_test.jsonl" \
  --batch-size 32 --epochs 6 --initialize --seed 1 --threads "$threads" --schedule one-cycle \
  --metrics accuracy,f1,roc_auc,confusion_matrix
"$ondine" train "$@" --dry-run
"$ondine" train "$@" --report "$work/report.html" -o "$work/trained.onnx"

"$ondine" eval "$work/trained.onnx" --data "$work/mails_test.jsonl" --threads "$threads" \
  --metrics accuracy,f1,roc_auc,confusion_matrix | tee "$work/scores.txt"
cat >"$work/new.jsonl" <<'END'
{"text": "FREE!!! Click here and earn $5000 a week from home. 100% guaranteed, no risk."}
{"text": "Hi Tom,\n\nthe patch applies, but the test of the parser still fails with gcc 3.2.\n"}
END
"$ondine" infer "$work/trained.onnx" --data "$work/new.jsonl"
echo "time: $(($(date +%s) - start)) s"
awk '$1 == "accuracy" { found = $2 > 0.95 } END { exit !found }' "$work/scores.txt"
