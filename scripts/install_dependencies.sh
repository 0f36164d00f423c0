#!/bin/sh
# Installs the Debian packages that are missing, and those given as arguments. Needs root or sudo only when some are.
set -eu
packages="g++ cmake ninja-build protobuf-compiler libprotobuf-dev libeigen3-dev
  libboost-serialization-dev zlib1g-dev libre2-dev libpcre2-dev libutf8proc-dev libjpeg62-turbo-dev
  libpng-dev libwebp-dev libtiff-dev libopenjp2-7-dev libsndfile1-dev libsamplerate0-dev
  libcurl4-openssl-dev libssl-dev libcli11-dev libtomlplusplus-dev nlohmann-json3-dev libdlpack-dev
  catch2 clang-format python3 python3-venv
  qemu-user dataset-fashion-mnist $*"
# Tests and timings that need these are skipped without them.
optional="g++-aarch64-linux-gnu valgrind abigail-tools dpkg-dev nasm unicode-data
  openmpi-bin libopenmpi-dev mpich libmpich-dev
  asterisk-core-sounds-en-wav
  asterisk-core-sounds-es-wav asterisk-core-sounds-fr-wav asterisk-core-sounds-it-wav"

absent() {
  for package; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
      printf ' %s' "$package"
  done
}
# shellcheck disable=SC2086
missing=$(absent $packages) wanted=$(absent $optional)
[ -n "$missing$wanted" ] || exit 0
echo "installing:$missing$wanted"
run=
if [ "$(id -u)" -ne 0 ]; then
  [ -n "$missing" ] || exit 0
  command -v sudo >/dev/null || { echo "run as root, or install:$missing" >&2; exit 1; }
  run=sudo
fi
$run apt-get update -qq
install() {
  $run env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
}
# shellcheck disable=SC2086
[ -z "$missing" ] || install $missing
# shellcheck disable=SC2086
[ -z "$wanted" ] || install $wanted || echo "without:$wanted"
