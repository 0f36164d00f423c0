#!/bin/sh
# test_everywhere.sh [MACHINE...]
# Runs what scripts/machines.sh has built, by default for all machines of scripts/targets.txt: what is
# for other machines in the emulator of qemu-user, what is for Windows under Wine. Prints a table:
#   bytes    of the command line, or why nothing ran
#   tests    of tests/cross (machines.sh with TESTS=yes), or of tests/windows
#   cases    conformance cases in CASES that passed, failed and were skipped
#   W1 W3    by how much the losses of 20 steps differ from those of build/bin/ondine
# A minus stands for what is not there. Fails when a test or a case fails or a loss differs by more
# than 1e-5; exits with 77 when nothing ran. From the environment:
#   MACHINES         folder of the builds (build-machines)
#   CASES            folders of cases (../shared/cases)
#   MODELS           folder with W1.onnx, W1.x.npy, W1.label.npy, ... (those that build/bin/bench_models
#                    writes, if it is there)
set -eu
cd "$(dirname "$0")/.."
. scripts/target.sh
: "${CASES:=../shared/cases}" "${MODELS:=}"
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
  "$@" train "$MODELS/$model.onnx" --data "$MODELS/$model.x.npy" "$MODELS/$model.label.npy" \
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
  [ -e "$MODELS/$model.onnx" ] && [ -x build/bin/ondine ] || { echo -; return; }
  log=$scratch/here steps build/bin/ondine && log=$scratch/there steps run_target &&
    largest_difference "$scratch/here" "$scratch/there" || echo failed
}

check_cases() {
  for folder in $CASES; do [ -d "$folder" ] || { echo -; return; }; done
  # The emulator's own memory, some 60 MiB, counts for the program. Wine runs children by itself, and
  # its server takes time and memory for each.
  set -- --emulator "$run" --refusal-mib 128
  [ -n "$run" ] || set --
  [ -z "$exe" ] || set -- --refusal-seconds 5 --refusal-mib 256
  log=$scratch/cases-$machine.log
  run_target verify "$@" $CASES >"$log" 2>&1 || :
  grep -E '^[0-9]+ passed' "$log" || echo "failed: $log"
}

# What differs on Windows.
test_windows() {
  tests=$MACHINES/$machine/library/bin/test_windows.exe
  [ -x "$tests" ] || { echo -; return; }
  $run "$tests" >"$log" 2>&1 || { echo "failed: $log"; return; }
  [ ! -e "$MODELS/W1.onnx" ] ||
    tests/windows/command_line.sh "$program" "$MODELS" "$scratch/windows" "$run" >>"$log" 2>&1 ||
    { echo "failed: $log"; return; }
  count_tests
}

test_parts() {
  tests=$MACHINES/$machine/tests
  [ -x "$tests/golden" ] || { echo -; return; }
  QEMU_LD_PREFIX=$system ctest --test-dir "$tests" --no-tests=error -V >"$log" 2>&1 ||
    { echo "failed: $log"; return; }
  count_tests
}

# Of Catch2, of command_line.sh and of golden.
count_tests() {
  awk '/All tests passed/ { n += $(NF - 2) } /^passed: / || / checkpoints, / { ++n } END { print n " pass" }' "$log"
}

mkdir -p "$scratch"
if [ -z "$MODELS" ]; then
  MODELS=$scratch
  [ ! -x build/bin/bench_models ] || build/bin/bench_models "$MODELS" W1 W3
fi
MODELS=$(cd "$MODELS" && pwd)
format='%-14s  %9s  %-8s  %-34s  %-8s  %s\n'
none() { printf "%-14s  %s\n" "$machine" "$1"; }
printf "$format" machine bytes tests cases W1 W3
for machine in ${*:-$(sed -n 's/^\([a-z][^ ]*\) .*/\1/p' scripts/targets.txt)}; do
  read_target
  program=$MACHINES/$machine/library/bin/ondine$exe
  [ -x "$program" ] || { none "not built (scripts/machines.sh $machine)"; continue; }
  run=
  if [ -n "$emulator" ]; then
    run=$(command -v "$emulator" || command -v "$emulator-static") && [ -d "$system" ] ||
      { none "not run: needs the packages $packages"; continue; }
  fi
  log=$scratch/tests-$machine.log
  if [ -n "$exe" ]; then tests=$(test_windows); else tests=$(test_parts); fi
  cases=$(check_cases)
  w1=$(compare_losses W1)
  w3=$(compare_losses W3)
  printf "$format" "$machine" "$(stat -Lc %s "$program")" "$tests" "$cases" "$w1" "$w3"
  ran=yes
  case $tests in failed*) tail -n 20 "$log"; failed=yes ;; esac
  case $cases in - | *" 0 failed"*) ;; *) failed=yes ;; esac
  for loss in "$w1" "$w3"; do
    [ "$loss" = - ] || awk -v loss="$loss" 'BEGIN { exit !(loss != "failed" && loss + 0 <= 1e-5) }' ||
      failed=yes
  done
done
[ -n "$ran" ] || { echo "skipped: nothing that scripts/machines.sh built could be run"; exit 77; }
[ -z "$failed" ]
