#!/bin/sh
# Installs the Debian packages that are missing, and those given as arguments. Needs root or sudo only when some are.
set -eu
packages="g++ cmake ninja-build protobuf-compiler libprotobuf-dev libeigen3-dev
  libboost-serialization-dev zlib1g-dev libre2-dev libjpeg62-turbo-dev libpng-dev
  libwebp-dev libtiff-dev libopenjp2-7-dev libcli11-dev nlohmann-json3-dev catch2 clang-format python3
  qemu-user dataset-fashion-mnist $*"
missing=
for package in $packages; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
    missing="$missing $package"
done
[ -n "$missing" ] || exit 0
echo "installing:$missing"
run=
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "run as root, or install:$missing" >&2; exit 1; }
  run=sudo
fi
$run apt-get update -qq
# shellcheck disable=SC2086
$run env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing
