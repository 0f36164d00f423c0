#!/bin/sh
# A model of the next character of the King James Bible: run.sh [BUILD_DIR [WORK_DIR]]
# Exits with 77 where the text cannot be had.
set -eu
here=$(dirname "$0")
name=next_character
. "$here/../common/places.sh"

"$here/../common/bible.sh" "$work"
# Without "Ge1:1" in front of each verse.
sed 's/^[^ ]*[0-9]*:[0-9]* //' "$work/bible.txt" >"$work/verses.txt"
# Genesis to Deuteronomy, and from there on to validate.
head -n 5852 "$work/verses.txt" >"$work/verses_train.txt"
sed -n '5853,6500p' "$work/verses.txt" >"$work/verses_val.txt"
rm -f "$work"/*.onnx "$work"/*.html
start=$(date +%s)

"$build/bin/example_make_next_character" "$work/net.onnx"
"$ondine" prepare "$work/net.onnx" -o "$work/train.onnx" --loss softmax-cross-entropy \
  --optimizer adam --learning-rate 0.004 --clip-norm 1
set -- "$work/train.onnx" --data "$work/verses_train.txt" "$work/verses_val.txt" \
  --batch-size 32 --epochs 2 --initialize --seed 1 --threads "$threads" --schedule cosine \
  --metrics perplexity,accuracy
"$ondine" train "$@" --dry-run
"$ondine" train "$@" --report "$work/report.html" -o "$work/trained.onnx"

"$ondine" eval "$work/trained.onnx" --data "$work/verses_val.txt" --metrics perplexity,accuracy \
  --threads "$threads" | tee "$work/scores.txt"
echo "a sample:"
"$ondine" infer "$work/trained.onnx" --prompt "In the beginning " --sample 300 --temperature 0.7 \
  --seed 1
echo "time: $(($(date +%s) - start)) s"
# The frequencies of single characters have a perplexity of 20.6 here, those of pairs of 9.6.
awk '$1 == "perplexity" { found = $2 < 7 } END { exit !found }' "$work/scores.txt"
