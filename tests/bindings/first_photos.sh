#!/bin/sh
# From a wheel to a tuned classifier of photos, with the commands of docs/tutorial.md and their times:
# first_photos.sh WORK. Installs the wheel of scripts/wheels.sh (or one in the folder WHEELS) in a
# clean environment. The photos are those of examples/image_folder. Fails after three minutes, and
# below 88 % accuracy. Not part of ctest, as the wheels take an hour to build.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
wheels=$(cd "${WHEELS:-$source/build-wheels/dist}" && pwd)
idx=${ONDINE_DATA:-/usr/share/datasets/fashion-mnist}
[ -d "$idx" ] || { echo "skipped: no data in $idx (package dataset-fashion-mnist)" >&2; exit 77; }
mkdir -p "$1"
cd "$1"
[ -d photos/val/boot ] || python3 "$source/examples/image_folder/make_folder.py" "$idx" photos
rm -rf clean net.onnx tuned.onnx
total=0

# Runs COMMAND... and adds its seconds to the total.
timed() {
  start=$(date +%s%N)
  "$@" >step.txt 2>&1 || { cat step.txt >&2; exit 1; }
  milliseconds=$((($(date +%s%N) - start) / 1000000))
  total=$((total + milliseconds))
  printf '%9d ms  %s\n' "$milliseconds" "$*"
}

timed python3 -m venv clean
timed clean/bin/pip install -q --find-links "$wheels" ondine-train
PATH=$PWD/clean/bin:$PATH
timed ondine new cnn --data photos -o net.onnx
timed ondine finetune net.onnx --data photos -o tuned.onnx --threads auto
tail -3 step.txt
timed ondine infer tuned.onnx --top 3 --data photos/val/boot/00000.png
cat step.txt
ondine eval tuned.onnx --data photos/val --threads auto | tee eval.txt
echo "five commands: $total ms"
[ "$total" -le 180000 ] || { echo "more than three minutes" >&2; exit 1; }
awk '$1 == "accuracy" { found = $2 >= 0.88 } END { if (!found) { print "below 88 %"; exit 1 } }' \
  eval.txt
