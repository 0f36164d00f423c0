#!/bin/sh
# Runs the program and the commands of docs/training-info.md: training_info.sh SOURCE BIN WORK.
# Exits with 77, which ctest counts as skipped, where the package onnx cannot be had.
set -eu
source=$1
PATH=$2:$PATH
work=$3
mkdir -p "$work"
"$source/scripts/python_packages.sh" "$work/python" onnx
document=$source/docs/training-info.md
sed -n '/^```python$/,/^```$/{/^```/!p}' "$document" >"$work/program.py"
sed -n '/^```sh$/,/^```$/{/^```/!p}' "$document" >"$work/commands.sh"
cd "$work"
rm -f line.onnx fitted.onnx
python/bin/python program.py
sh -eu commands.sh | tee said.txt
# The line is fitted exactly.
awk '$1 == "mse" { found = $2 < 0.01 } END { exit !found }' said.txt
