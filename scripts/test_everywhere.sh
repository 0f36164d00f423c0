#!/bin/sh
# test_everywhere.sh [MACHINE...]
# Runs what scripts/machines.sh has built, by default for all machines of scripts/targets.txt, other
# machines in the emulator of qemu-user, Windows under Wine, and prints a table: what was built, the
# conformance cases in CASES (../shared/cases) that passed, failed and were skipped, and by how much
# the losses of 20 steps of W1 and W3 differ from those of build/bin/ondine (its models by
# build/bin/bench_models). A minus stands for what is not there. For Windows, the tests of
# tests/windows run as well. Fails when a test or a case fails or a loss differs by more than 1e-5;
# exits with 77 when nothing was built. From the environment: MACHINES (build-machines).
set -eu
cd "$(dirname "$0")/.."
. scripts/target.sh
: "${CASES:=../shared/cases}"
mkdir -p "$MACHINES"
MACHINES=$(cd "$MACHINES" && pwd)
scratch=$MACHINES/tests
failed=
ran=

# run_target ARGUMENTS: the command line of the machine.
run_target() { QEMU_LD_PREFIX=$system $run "$program" "$@"; }

# Wine keeps its disk in a folder. A name of Linux is one below its drive Z.
export WINEPREFIX="${WINEPREFIX:-$scratch/wine}" WINEDEBUG="${WINEDEBUG:--all}"

# steps COMMAND: losses of 20 steps of $model in the folder $log.
steps() {
  rm -rf "$log"
  "$@" train "$scratch/$model.onnx" --data "$scratch/$model.x.npy" "$scratch/$model.label.npy" \
    --batch-size 64 --epochs 20 --log-dir "$log" --overwrite --output "$scratch/trained.onnx" >/dev/null
}

# largest_difference: of the last column of two files of steps.
largest_difference() {
  paste -d, "$1/steps.csv" "$2/steps.csv" | awk -F, '
    NR > 1 { d = $(NF / 2) - $NF; if (d < 0) d = -d; if (d > most || d != d) most = d; ++rows }
    END { if (rows != 20) exit 1; printf "%.1e\n", most }'
}

compare_losses() {
  model=$1
  [ -e "$scratch/$model.onnx" ] || { echo -; return; }
  log=$scratch/here steps build/bin/ondine && log=$scratch/there steps run_target &&
    largest_difference "$scratch/here" "$scratch/there" || echo failed
}

check_cases() {
  [ -d "$CASES" ] || { echo -; return; }
  # The emulator's own memory, some 60 MiB, counts for the program. Wine runs children by itself.
  children=$run
  [ -z "$exe" ] || children=
  run_target verify ${children:+--emulator "$children"} ${run:+--refusal-mib 128} "$CASES" >"$scratch/cases-$machine.log" 2>&1 || :
  grep -E '^[0-9]+ passed' "$scratch/cases-$machine.log" || echo failed
}

# Differences of Windows.
test_windows() {
  log=$scratch/windows.log
  "$run" "$MACHINES/$machine/library/bin/test_windows.exe" >"$log" 2>&1 &&
    { [ ! -e "$scratch/W1.onnx" ] ||
      tests/windows/command_line.sh "$program" "$scratch" "$scratch/windows" "$run" >"$log" 2>&1; } ||
    { tail -n 20 "$log"; failed=yes; }
}

mkdir -p "$scratch"
if [ -x build/bin/ondine ] && [ -x build/bin/bench_models ]; then
  build/bin/bench_models "$scratch" W1 W3
fi
format='%-14s  %-11s  %-34s  %-8s  %s\n'
printf "$format" machine bytes cases W1 W3
for machine in ${*:-$(sed -n 's/^\([a-z][^ ]*\) .*/\1/p' scripts/targets.txt)}; do
  read_target
  program=$MACHINES/$machine/library/bin/ondine$exe
  [ -x "$program" ] || { printf "$format" "$machine" - "not built" - -; continue; }
  run=
  if [ -n "$emulator" ]; then
    run=$(command -v "$emulator") && [ -d "$system" ] ||
      { printf "$format" "$machine" - "no packages $packages" - -; continue; }
  fi
  cases=$(check_cases)
  w1=$(compare_losses W1)
  w3=$(compare_losses W3)
  printf "$format" "$machine" "$(stat -Lc %s "$program")" "$cases" "$w1" "$w3"
  ran=yes
  [ -z "$exe" ] || test_windows
  case $cases in - | *" 0 failed"*) ;; *) failed=yes ;; esac
  for loss in "$w1" "$w3"; do
    [ "$loss" = - ] || awk -v loss="$loss" 'BEGIN { exit !(loss != "failed" && loss + 0 <= 1e-5) }' ||
      failed=yes
  done
done
[ -n "$ran" ] || { echo "skipped: nothing was built by scripts/machines.sh"; exit 77; }
[ -z "$failed" ]
