#!/bin/sh
# command_line.sh PROGRAM MODELS WORK [WINE]
# Tries with the command line what differs on Windows: names, streams, locks, killed runs. MODELS is
# a folder with W1 of bench_models, WORK a new folder for files, WINE what runs PROGRAM.
set -u
program=$1 models=$2 work=$3 wine=${4-}
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 1
failed=

ondine() { $wine "$program" "$@"; }

# check TEXT COMMAND...: the command succeeds.
check() {
  text=$1
  shift
  if "$@"; then echo "passed: $text"; else echo "FAILED: $text"; failed=yes; fi
}

# train NET ARGUMENTS...
train() {
  net=$1
  shift
  ondine train "$net" --data "$models/W1.x.npy" "$models/W1.label.npy" --batch-size 16 "$@"
}

has() { grep -q "$2" "$1" || { cat "$1"; false; }; }

lines_end_in_newlines_alone() {
  ondine info "$models/W1.onnx" >info.txt && [ -s info.txt ] && ! grep -q "$(printf '\r')" info.txt
}

# Spaces and letters of one, two, three and four bytes.
name='net ä 漢 😀'
takes_such_names() {
  mkdir "$name" && cp "$models/W1.onnx" "$name/$name.onnx" &&
    train "$name/$name.onnx" --epochs 2 --checkpoint "$name/$name.ckpt" --log-dir "$name/log $name" \
      -o "$name/out $name.onnx" >named.txt 2>&1 &&
    [ -s "$name/$name.ckpt" ] && [ -s "$name/out $name.onnx" ] && [ -s "$name/log $name/steps.csv" ]
}
names_them_in_messages() {
  ! ondine info "$name/absent.onnx" >message.txt 2>&1 && has message.txt "$name"
}

resumes_with_the_same_bytes() {
  train "$models/W1.onnx" --epochs 4 --checkpoint whole.ckpt -o whole.onnx >/dev/null 2>&1 &&
    train "$models/W1.onnx" --epochs 2 --checkpoint part.ckpt -o half.onnx >/dev/null 2>&1 &&
    train "$models/W1.onnx" --epochs 4 --checkpoint part.ckpt --resume -o part.onnx >/dev/null 2>&1 &&
    cmp whole.onnx part.onnx
}

replaces_the_model_that_it_reads() {
  cp "$models/W1.onnx" same.onnx &&
    train same.onnx --epochs 1 -o same.onnx --overwrite >same.txt 2>&1 || { cat same.txt; return 1; }
  ! cmp -s same.onnx "$models/W1.onnx" && ondine check same.onnx >/dev/null
}

# A run that goes on until it is killed.
start_long_run() {
  # Not by a function: the process to kill would be that of a shell.
  $wine "$program" train "$models/W1.onnx" --data "$models/W1.x.npy" "$models/W1.label.npy" \
    --batch-size 16 --epochs 1000000 --checkpoint long.ckpt --checkpoint-every 20 --log-dir long.log >long.txt 2>&1 &
  runner=$!
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    [ -s long.ckpt ] && return
    sleep 1
  done
  cat long.txt
  return 1
}
keeps_a_second_run_out() {
  ! train "$models/W1.onnx" --epochs 1 --checkpoint long.ckpt --overwrite >second.txt 2>&1 &&
    has second.txt "in use by another run"
}
goes_on_after_a_kill() {
  kill -9 "$runner"
  wait "$runner" 2>/dev/null
  train "$models/W1.onnx" --max-time 1s --epochs 1000000 --checkpoint long.ckpt --resume \
    --log-dir long.log >resumed.txt 2>&1 || { cat resumed.txt; return 1; }
  [ ! -e long.ckpt.lock ] && [ "$(find . -name 'long.ckpt.ondine-tmp*' | wc -l)" = 0 ]
}

reads_a_job_file_with_crlf() {
  printf '[train]\r\nepochs = 1\r\noutput = "job.onnx"\r\n' >job.toml
  train "$models/W1.onnx" --config job.toml >job.txt 2>&1 && [ -s job.onnx ] || { cat job.txt; false; }
}

check "lines end in newlines alone" lines_end_in_newlines_alone
check "names have spaces and letters beyond ASCII" takes_such_names
check "messages show such names" names_them_in_messages
check "a resumed run ends with the same bytes" resumes_with_the_same_bytes
check "a model is replaced by what was trained from it" replaces_the_model_that_it_reads
check "a run saves while it goes on" start_long_run
check "a second run on the same checkpoint is kept out" keeps_a_second_run_out
check "a killed run is continued" goes_on_after_a_kill
check "a job file may have the line ends of Windows" reads_a_job_file_with_crlf
[ -z "$failed" ]
