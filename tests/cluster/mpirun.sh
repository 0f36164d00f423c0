#!/bin/sh
# Training by mpirun with each MPI that is installed: mpirun.sh ONDINE SOURCE BUILD [RANKS...]
# The number of ranks must not change a bit. Exit status 77 where no MPI is installed.
set -eu
ondine=$1 source=$2 build=$3
shift 3
ranks=${*:-1 2}
. "$source/examples/common/mpirun.sh"
found=$(mpis "$build")
if [ -z "$found" ]; then
  echo "skipped: neither Open MPI nor MPICH is installed (Debian packages openmpi-bin, mpich)"
  exit 77
fi
work=$build/cluster_test
rm -rf "$work"
mkdir -p "$work"
cd "$work"

job=
fail() {
  echo "FAILED: $*" >&2
  [ -z "$job" ] || kill "$job" 2>/dev/null || true
  exit 1
}

# refused TEXT FILE: the file has the text, in one message.
refused() {
  grep -q -- "$1" "$2" || { cat "$2" >&2; fail "no message '$1'"; }
  [ "$(grep -c -- "$1" "$2")" = 1 ] || { cat "$2" >&2; fail "'$1' came more than once"; }
}

awk 'BEGIN {
  srand(7)
  print "a,b,c,kind"
  for (i = 0; i < 203; ++i) {
    a = rand(); b = rand(); c = rand()
    printf "%.4f,%.4f,%.4f,%s\n", a, b, c, (a + b > c + 0.5 ? "up" : "down")
  }
}' > rows.csv
"$ondine" new mlp --data rows.csv -o net.onnx > /dev/null
"$ondine" prepare net.onnx -o train.onnx --loss softmax-cross-entropy --optimizer adam \
  --learning-rate 0.01 --clip-norm 1 > /dev/null
train="train train.onnx --data rows.csv --seed 3 --initialize --batch-size 16"
train="$train --validation-split 0.2"

"$ondine" $train --epochs 3 --micro-shards 4 -o alone.onnx > alone.txt
for mpi in $found; do
  for count in $ranks; do
    run_ranks "$mpi" "$count" "$ondine" $train --epochs 3 -o "$mpi$count.onnx" > "$mpi$count.txt" 2>&1 ||
      { cat "$mpi$count.txt" >&2; fail "$mpi, $count ranks"; }
    cmp alone.onnx "$mpi$count.onnx"
    [ "$(grep -c 'epoch 3/3' "$mpi$count.txt")" = 1 ] || fail "$mpi: epochs are not printed once"
  done

  # Another number of ranks goes on.
  rm -f run.ckpt*
  run_ranks "$mpi" 2 "$ondine" $train --epochs 1 --checkpoint run.ckpt > part.txt 2>&1
  run_ranks "$mpi" 1 "$ondine" $train --epochs 2 --checkpoint run.ckpt --resume >> part.txt 2>&1
  run_ranks "$mpi" 2 "$ondine" $train --epochs 3 --checkpoint run.ckpt --resume -o resumed.onnx \
    >> part.txt 2>&1
  cmp alone.onnx resumed.onnx

  # Sums in any order.
  run_ranks "$mpi" 2 "$ondine" $train --epochs 3 --fast-reduce > fast.txt 2>&1

  # One message for all ranks.
  run_ranks "$mpi" 2 "$ondine" $train --micro-shards 5 > error.txt 2>&1 && fail "5 parts of 16 rows"
  refused "cannot be divided into 5 equal micro-shards" error.txt
  run_ranks "$mpi" 2 "$ondine" $train --dry-run > error.txt 2>&1 && fail "a dry run"
  refused "dry-run is for one process" error.txt

  # Other data on one rank.
  sed '2s/^0\.[0-9]*/0.5001/' rows.csv > other.csv
  cat > pick.sh <<END
case "\${OMPI_COMM_WORLD_RANK:-\${PMI_RANK:-0}}" in
  0) data=rows.csv ;;
  *) data=\$1 ;;
esac
exec "$ondine" train train.onnx --data "\$data" --seed 3 --batch-size 16
END
  run_ranks "$mpi" 2 sh pick.sh other.csv > error.txt 2>&1 && fail "other data"
  refused "rank 1 differs from rank 0 in: the training data" error.txt
  run_ranks "$mpi" 2 sh pick.sh missing.csv > error.txt 2>&1 && fail "missing data"
  refused "rank 1: .*missing.csv" error.txt

  # A rank that is killed ends the job; the checkpoint is whole, and another number goes on.
  rm -f run.ckpt* kill.txt pid.*
  cat > long.sh <<END
echo \$\$ > pid.\${OMPI_COMM_WORLD_RANK:-\$PMI_RANK}
exec "$ondine" $train --epochs 100000 --checkpoint run.ckpt
END
  run_ranks "$mpi" 2 sh long.sh > kill.txt 2>&1 &
  job=$!
  tries=0
  until [ -e run.ckpt ]; do
    tries=$((tries + 1))
    [ $tries -lt 300 ] || fail "no checkpoint after 30 s"
    sleep 0.1
  done
  kill -KILL "$(cat pid.1)"
  wait $job && fail "the job went on without a rank"
  job=
  # mpirun asks the others to end before it kills them.
  tries=0
  while kill -0 "$(cat pid.0)" 2>/dev/null; do
    tries=$((tries + 1))
    [ $tries -lt 300 ] || fail "rank 0 is left over"
    sleep 0.1
  done
  "$ondine" export train.onnx --checkpoint run.ckpt -o killed.onnx > /dev/null ||
    fail "the checkpoint is damaged"
  run_ranks "$mpi" 1 "$ondine" $train --epochs 100000 --max-time 1s --checkpoint run.ckpt --resume \
    > resumed.txt 2>&1 || { cat resumed.txt >&2; fail "the run does not go on"; }
done
echo "passed with: $(echo $found)"
