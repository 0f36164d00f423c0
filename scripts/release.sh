#!/bin/sh
# release.sh [TARGET...]
# Makes the artifacts of the last commit in the folder release, with checksums (SHA256SUMS) and the
# list of components of the Linux build (components.json, CycloneDX). Targets:
#   source   the sources                             linux    command line, library and headers
#   deb      Debian packages (scripts/deb.sh)        java     the Maven artifact
#   rust     the crates                              go       the Go module
#   wheels   for Python (scripts/wheels.sh)          npm      for browsers and Node (scripts/wasm.sh)
#   machines command line and library for others     (scripts/machines.sh)
# Without targets all of them. What was made of this commit is not made again: a run that ended
# early is called once more. Targets that need a program or a network that is not there are left out,
# and the exit code is 77. From the environment: OUT (release), JOBS (1).
set -eu
cd "$(dirname "$0")/.."
: "${OUT:=release}" "${JOBS:=1}"
export JOBS
unset WORK MACHINES # the scripts below have folders of their own
targets=${*:-source linux deb java rust go wheels npm machines}
version=$(sed -n 's/^project(ondine VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
commit=$(git rev-parse HEAD)
date=$(git log -1 --format=%ct)
machine=$(uname -m)
git diff --quiet HEAD || { echo "there are changes that are not committed" >&2; exit 1; }
# Artifacts of one commit alone.
if [ -e "$OUT/.commit" ] && [ "$(cat "$OUT/.commit")" != "$commit" ]; then
  echo "removing the artifacts of $(cat "$OUT/.commit") in $OUT"
  rm -r "$OUT"
fi
mkdir -p "$OUT/.done" build-release
echo "$commit" >"$OUT/.commit"
OUT=$(cd "$OUT" && pwd)
build=$PWD/build-release

make_source() {
  git archive --prefix="ondine-$version/" HEAD | gzip -9n >"$OUT/ondine-$version.tar.gz"
}

make_linux() {
  name=ondine-$version-linux-$machine
  cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON \
    -DCMAKE_INSTALL_RPATH='$ORIGIN/../lib' -DCMAKE_INSTALL_LIBDIR=lib -DONDINE_TESTS=OFF \
    -DONDINE_EXAMPLES=OFF -DONDINE_WITH_MPI=OFF -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON >/dev/null
  cmake --build "$build" -j "$JOBS" --target ondine_cli ondine
  rm -rf "$build/install"
  cmake --install "$build" --prefix "$build/install/$name" --strip >/dev/null
  "$build/install/$name/bin/ondine" --version
  scripts/archive.sh "$build/install" "$name" "$OUT/$name.tar.gz"
  tools/dev/components.py "$build/install/$name/lib/libondine.so" "$version" "$OUT/components.json"
}

make_deb() {
  scripts/deb.sh
  cp build-deb/*_"${version}"_*.deb "$OUT"
}

make_java() {
  [ -e "$build/libondine.so" ] || make_linux
  bindings/java/build.sh "$build" "$build/java"
  cp "$build/java/ondine-$version.jar" "$build/java/ondine-$version.pom" "$OUT"
}

make_rust() {
  command -v cargo >/dev/null || { echo "skipped: no cargo (Rust from https://rustup.rs)"; return 77; }
  rm -rf "$build/crates"
  cp -R bindings/rust "$build/crates"
  (cd "$build/crates" && cargo package --workspace --no-verify --offline -q --target-dir ../cargo)
  cp "$build"/cargo/package/*.crate "$OUT"
}

make_go() {
  git archive --format=zip --prefix="ondine@v$version/" HEAD:bindings/go \
    >"$OUT/ondine-go-$version.zip"
}

make_wheels() {
  scripts/wheels.sh
  cp build-wheels/dist/*.whl "$OUT"
}

make_npm() {
  scripts/wasm.sh
  cp "build-wasm/ondine-$version.tgz" "$OUT"
}

make_machines() {
  scripts/machines.sh aarch64 armv7 riscv64 windows-x86_64
  cp build-machines/ondine-"$version"-linux-*.tar.gz \
    build-machines/ondine-"$version"-windows-x86_64.zip "$OUT"
}

skipped=
for target in $targets; do
  case $target in
    source | linux | deb | java | rust | go | wheels | npm | machines) ;;
    *) sed -n '2,12p' "$0" >&2; exit 2 ;;
  esac
  done=$OUT/.done/$target
  if [ -e "$done" ]; then
    echo "$target: made before"
    continue
  fi
  # A shell of its own, in which a failure ends the target.
  set +e
  (set -e; "make_$target")
  code=$?
  set -e
  if [ "$code" -eq 77 ]; then
    skipped="$skipped $target"
    continue
  fi
  [ "$code" -eq 0 ] || { echo "$target failed" >&2; exit "$code"; }
  : >"$done"
  echo "$target: made"
done
(cd "$OUT" && find . -maxdepth 1 -type f ! -name 'SHA256SUMS*' ! -name '.*' -printf '%f\n' | LC_ALL=C sort |
  xargs sha256sum >SHA256SUMS.new && mv SHA256SUMS.new SHA256SUMS && cat SHA256SUMS)
[ -z "$skipped" ] || { echo "left out:$skipped"; exit 77; }
