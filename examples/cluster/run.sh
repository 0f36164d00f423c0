#!/bin/sh
# Trains in 1 and 2 processes with each MPI that is installed: run.sh [BUILD_DIR [WORK_DIR]]
# ONDINE_RANKS names other numbers of processes.
set -eu
here=$(dirname "$0")
build=${1:-build}
work=${2:-$build/cluster}
data=${ONDINE_DATA:-/usr/share/datasets/fashion-mnist}
ondine=$build/bin/ondine
. "$here/../common/mpirun.sh"
if [ ! -d "$data" ]; then
  echo "skipped: no data in $data (Debian package dataset-fashion-mnist)"
  exit 77
fi
found=$(mpis "$build")
if [ -z "$found" ]; then
  echo "skipped: neither Open MPI nor MPICH is installed (Debian packages openmpi-bin, mpich)"
  exit 77
fi
mkdir -p "$work"

"$build/bin/example_make_cnn" "$work/net.onnx"
"$ondine" prepare "$work/net.onnx" -o "$work/train.onnx" --loss softmax-cross-entropy \
  --optimizer adam --learning-rate 0.001 --label label
for mpi in $found; do
  for count in ${ONDINE_RANKS:-1 2}; do
    echo "== $mpi, $count processes"
    start=$(date +%s)
    run_ranks "$mpi" "$count" "$ondine" train "$work/train.onnx" --data "$data" --max-steps 100 \
      --batch-size 64 --seed 1 --threads 1 --initialize -o "$work/$mpi$count.onnx"
    echo "time: $(($(date +%s) - start)) s"
    first=${first:-$work/$mpi$count.onnx}
    cmp "$first" "$work/$mpi$count.onnx"
  done
done
"$ondine" eval "$first" --data "$data" | tee "$work/eval.txt"
awk '$1 == "accuracy" { found = $2 >= 0.65 } END { if (!found) { print "below 65 %"; exit 1 } }' \
  "$work/eval.txt"
echo "all models have the same bits"
