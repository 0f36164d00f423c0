#!/bin/sh
# Runs the commands of a tutorial in their order, in a new folder: tutorial.sh DOCUMENT BIN WORK
set -eu
document=$1
PATH=$2:$PATH
work=$3
rm -rf "$work"
mkdir -p "$work"
# Blocks of ```sh up to the chapter on photos, which needs some.
sed '/^## Photos/,$d' "$document" | sed -n '/^```sh$/,/^```$/{/^```/!p}' >"$work/commands.sh"
grep -q 'ondine finetune' "$work/commands.sh"
cd "$work"
sh -eu commands.sh
# What the commands promise is there, and the class follows from the columns.
for file in shapes.onnx tuned.onnx report.html run.ckpt; do
  [ -s "$file" ] || { echo "$file is missing" >&2; exit 1; }
done
ondine infer shapes.onnx --data new.csv | grep broad
