#!/bin/sh
# From CSV files to a classifier and a regression: run.sh [BUILD_DIR [WORK_DIR]]
set -eu
here=$(dirname "$0")
build=${1:-build}
work=${2:-$build/table}
ondine=$build/bin/ondine
mkdir -p "$work"
source=$("$here/../common/sklearn_data.sh" "$work")
"$here/make_tables.py" "$source" "$work/data"
start=$(date +%s)

"$build/bin/example_make_mlp" 30 2 "$work/cancer.onnx"
"$ondine" prepare "$work/cancer.onnx" -o "$work/cancer_train.onnx" --loss softmax-cross-entropy \
  --optimizer adam --learning-rate 0.003
"$ondine" train "$work/cancer_train.onnx" --data "$work/data/cancer/train.csv" \
  "$work/data/cancer/test.csv" --epochs 40 --batch-size 32 --seed 1 --initialize \
  -o "$work/cancer_tuned.onnx"
"$ondine" eval "$work/cancer_tuned.onnx" --data "$work/data/cancer/test.csv" \
  --metrics accuracy,f1,roc_auc | tee "$work/cancer.txt"

"$build/bin/example_make_mlp" 10 1 "$work/diabetes.onnx"
"$ondine" prepare "$work/diabetes.onnx" -o "$work/diabetes_train.onnx" --loss mse \
  --optimizer adam --learning-rate 0.02
"$ondine" train "$work/diabetes_train.onnx" --data "$work/data/diabetes/train.csv" \
  "$work/data/diabetes/test.csv" --epochs 80 --batch-size 32 --seed 1 --initialize \
  -o "$work/diabetes_tuned.onnx"
"$ondine" eval "$work/diabetes_tuned.onnx" --data "$work/data/diabetes/test.csv" \
  --metrics r2,rmse,mae | tee "$work/diabetes.txt"
echo "time: $(($(date +%s) - start)) s"
awk '$1 == "accuracy" { found = $2 >= 0.94 } END { if (!found) { print "below 94 %"; exit 1 } }' \
  "$work/cancer.txt"
awk '$1 == "r2" { found = $2 >= 0.35 } END { if (!found) { print "R2 below 0.35"; exit 1 } }' \
  "$work/diabetes.txt"
