#!/bin/sh
# The long tests of several processes and machines: test_distributed.sh [BUILD_DIR]
# 1, 2 and 4 ranks under each MPI that is installed, times of steps, over a link of 1 Gbit/s too, and
# a federation of a hundred nodes beside one in PyTorch. What is not installed is left out, and said so.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$source/build}
build=$(cd "$build" && pwd)
. "$source/examples/common/mpirun.sh"
"$source/tests/cluster/mpirun.sh" "$build/bin/ondine" "$source" "$build" 1 2 4
ONDINE_RANKS="1 2 4" "$source/examples/cluster/run.sh" "$build" "$build/cluster"

# Two ranks of one thread, against one process of two threads.
cd "$build/cluster"
time_of() {
  what=$1
  shift
  best=
  for _ in 1 2 3; do
    "$@" > time.txt 2>&1 || { cat time.txt >&2; exit 1; }
    seconds=$(sed -n 's/.*epoch 1\/1: .* \([0-9.]*\) s.*/\1/p' time.txt | tail -1)
    best=$(printf '%s\n%s\n' "${best:-$seconds}" "$seconds" | sort -g | head -1)
  done
  echo "$what: $best s"
}
data=${ONDINE_DATA:-/usr/share/datasets/fashion-mnist}
"$build/bin/ondine" new cnn --data "$data" -o larger.onnx > /dev/null
"$build/bin/ondine" prepare larger.onnx -o larger_train.onnx --loss softmax-cross-entropy \
  --optimizer adam > /dev/null
set -- train larger_train.onnx --data "$data" --batch-size 256 --initialize --epochs 1
time_of "plain train, 2 threads" "$build/bin/ondine" "$@" --threads 2
for mpi in $(mpis "$build"); do
  time_of "$mpi, 2 ranks" run_ranks "$mpi" 2 "$build/bin/ondine" "$@" --micro-shards 2
  time_of "$mpi, 2 ranks, 4 micro-shards" run_ranks "$mpi" 2 "$build/bin/ondine" "$@"
  time_of "$mpi, 2 ranks, --fast-reduce" run_ranks "$mpi" 2 "$build/bin/ondine" "$@" --fast-reduce
done

# COMMAND..., whose exit code 77 says that something is not installed.
or_skip() {
  status=0
  "$@" || status=$?
  [ "$status" -ne 77 ] || { echo "skipped: $*" >&2; status=0; }
  [ "$status" -eq 0 ] || exit "$status"
}

# The same of larger networks, and over a link of 1 Gbit/s.
two_ranks() {
  [ -x "$build/bin/bench_models" ] || { echo "bench_models is not built" >&2; return 77; }
  "$source/scripts/python_packages.sh" "$build/two_ranks_python" numpy || return
  "$build/two_ranks_python/bin/python3" "$source/bench/cluster/two_ranks.py" "$build" \
    "$build/two_ranks"
}
or_skip two_ranks

# The hundred nodes.
or_skip "$source/bench/federation/run.sh" "$build" "$build/federation_bench"
