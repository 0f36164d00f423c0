#!/bin/sh
# Runs parts of the tests on an emulated processor without AVX, SSE4 or POPCNT: an instruction that
# such a processor lacks ends them.  old_processor.sh BUILD_DIR
set -eu
build=$1
if ! command -v qemu-x86_64 >/dev/null; then
  echo "skipped: no qemu-x86_64 (Debian package qemu-user)"
  exit 77
fi
old() { qemu-x86_64 -cpu core2duo "$@"; }
# The emulator must refuse what the test is to find.
work=$build/old_processor
mkdir -p "$work"
printf '%s\n' '#include <immintrin.h>' \
  'int main(int n, char**) {' \
  '  return _mm256_movemask_ps(_mm256_set1_ps(static_cast<float>(n))); }' >"$work/avx.cpp"
"${CXX:-c++}" -mavx -o "$work/avx" "$work/avx.cpp"
if (old "$work/avx" >/dev/null 2>&1); then
  echo "the emulated processor runs AVX"
  exit 1
fi
old "$build/bin/test_kernels" "float functions*"
old "$build/bin/test_kernels" "rows of*"
old "$build/bin/test_kernels" "empty products*,with beta 0*,a workspace for one thread*"
old "$build/bin/test_kernels" "*and LSTM follow their equations,Derivatives of*"
old "$build/bin/test_kernels" "*Softmax*,*Gelu*,*MaxPool*"
old "$build/bin/test_trainer" "a step of gradient*,*same bits for any number*,training goes on*"
