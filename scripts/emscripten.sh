#!/bin/sh
# emscripten.sh DIR
# Puts emscripten of Debian forky below DIR, without root: emcc, em++, emar and emranlib are then in
# DIR/usr/share/emscripten. Its programs run beside the libraries of their own release, which lie in
# DIR too; they know the path of DIR, which must not move. Exits with 77 where it cannot be had.
set -eu
mkdir -p "$1"
root=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
skip() { echo "skipped: $*"; exit 77; }

[ "$(cat "$root/.ready" 2>/dev/null)" != "$root" ] || exit 0
[ "$(uname -m)" = x86_64 ] || skip "emscripten is taken for x86_64 only"
[ "$(id -u)" -ne 0 ] || scripts/install_dependencies.sh patchelf || :
for program in patchelf node apt-get dpkg-deb python3; do
  command -v "$program" >/dev/null || skip "no program $program"
done
[ -e "$root/apt" ] || rmdir "$root" || exit 2 # a folder of something else stays
rm -rf "$root"
SUITE=forky scripts/foreign_packages.sh x86_64 "$root" emscripten ||
  skip "no Debian packages of forky"

# Programs of another release, with its loader and libraries.
libraries=$root/usr/lib/x86_64-linux-gnu
ln -sfn x86_64-linux-gnu "$root/usr/lib/lib" # libraries look for others in ../lib
for program in "$root"/usr/lib/llvm-*/bin/* "$root"/usr/bin/wasm*; do
  [ -f "$program" ] && [ ! -L "$program" ] || continue
  patchelf --print-interpreter "$program" >/dev/null 2>&1 || continue
  patchelf --set-interpreter "$libraries/ld-linux-x86-64.so.2" --force-rpath \
    --set-rpath "$libraries" "$program"
done
emscripten=$root/usr/share/emscripten
version=$(basename "$(echo "$root"/usr/bin/clang++-*)" | sed 's/.*-//')
cat >"$emscripten/.emscripten" <<END
LLVM_ROOT = '$root/usr/bin'
BINARYEN_ROOT = '$root/usr'
NODE_JS = '$(command -v node)'
EMSCRIPTEN_ROOT = '$emscripten'
CACHE = '$root/cache'
LLVM_ADD_VERSION = '$version'
CLANG_ADD_VERSION = '$version'
END
ln -sfn ../nodejs "$emscripten/node_modules"
version=$("$emscripten/emcc" --version | head -n 1)
case $version in
  *\ 6.*) echo "$version" ;;
  *) skip "forky has another emscripten than 6: $version" ;;
esac
echo "$root" >"$root/.ready"
