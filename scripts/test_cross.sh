#!/bin/sh
# Reads and writes the golden checkpoints on other, emulated machines and expects the same bytes.
#   scripts/test_cross.sh [--rooms] [aarch64|armv7|s390x]...     aarch64 and s390x by default
#   --rooms    also run the tests of sizes, checkpoints, kernels and tensors in model files
# Builds in the folder ONDINE_CROSS (build-cross). Installs compiler and emulator when run as root;
# exits with 77 when they or the other machine's packages are not available.
set -eu
cd "$(dirname "$0")/.."
work=${ONDINE_CROSS:-build-cross}
rooms=
if [ "${1:-}" = --rooms ]; then
  rooms=yes
  shift
fi

skip() {
  echo "skipped: $*"
  exit 77
}

# The package that holds an archive on this machine.
owner() { dpkg-query -S "*/$1" 2>/dev/null | sed -n '1s/[:,].*//p'; }

find_qemu() { qemu=$(command -v "qemu-$emulated" || command -v "qemu-$emulated-static"); }

for machine in ${*:-aarch64 s390x}; do
  triple=$machine-linux-gnu
  emulated=$machine
  if [ "$machine" = armv7 ]; then
    triple=arm-linux-gnueabihf
    emulated=arm
  fi
  compiler=$triple-g++
  if [ "$(id -u)" -eq 0 ] && ! { command -v "$compiler" && find_qemu; } >/dev/null; then
    scripts/install_dependencies.sh "g++-$triple" || :
  fi
  command -v "$compiler" >/dev/null || skip "no $compiler (Debian package g++-$triple)"
  find_qemu || skip "no qemu-$emulated (Debian package qemu-user)"

  boost=$(owner libboost_serialization.a)
  root=$work/$machine/root
  [ -n "$boost" ] && scripts/foreign_packages.sh "$machine" "$root" "$boost" \
    ${rooms:+catch2 libprotobuf-dev} ||
    skip "no Debian packages for $machine"
  root=$(cd "$root" && pwd)
  # Boost's headers are the same for every machine.
  mkdir -p "$root/usr/include"
  ln -sfn /usr/include/boost "$root/usr/include/boost"

  build=$work/$machine/build
  cmake -S tests/cross -B "$build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/cross.cmake" \
    -DONDINE_MACHINE="$machine" -DONDINE_TRIPLE="$triple" -DONDINE_QEMU="$qemu" \
    -DONDINE_ROOT="$root"
  cmake --build "$build" --target golden
  ctest --test-dir "$build" --no-tests=error --output-on-failure -R '^golden$'
  [ -n "$rooms" ] || continue
  cmake --build "$build" --target rooms
  ctest --test-dir "$build" --no-tests=error --output-on-failure -E '^golden$'
done
