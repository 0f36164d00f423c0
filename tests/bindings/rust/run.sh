#!/bin/sh
# Builds the crates over libondine.so, runs their tests, the example and the quick start of the
# README: run.sh SOURCE LIBRARY-FOLDER WORK [--random SECONDS]. Exits with 77, which ctest counts as
# skipped, where there is no cargo 1.75 or later.
set -eu
source=$1
library=$2
work=$3
[ "${4:-}" != --random ] || export ONDINE_RANDOM_SECONDS="$5"
command -v cargo >/dev/null || { echo "skipped: no cargo (Rust from https://rustup.rs)"; exit 77; }
minor=$(cargo --version | sed -n 's/^cargo 1\.\([0-9]*\).*/\1/p')
[ "${minor:-0}" -ge 75 ] || { echo "skipped: $(cargo --version) is older than 1.75"; exit 77; }
mkdir -p "$work"
"$source/tools/dev/c_declarations.py" rust >"$work/declarations.rs"
cmp "$work/declarations.rs" "$source/bindings/rust/ondine-sys/src/lib.rs" || {
  echo "write it anew: tools/dev/c_declarations.py rust >bindings/rust/ondine-sys/src/lib.rs" >&2
  exit 1
}
rm -rf "$work/crates"
cp -R "$source/bindings/rust" "$work/crates"
mkdir -p "$work/crates/ondine/tests/support"
cp "$source"/tests/bindings/rust/*.rs "$work/crates/ondine/tests"
mv "$work/crates/ondine/tests/support.rs" "$work/crates/ondine/tests/support/mod.rs"
"$source/tests/bindings/quick_start.sh" rust "$source/bindings/rust/README.md" \
  "$work/crates/ondine/examples/quick_start.rs" "$work/flowers.csv"
"$source/tests/bindings/models.sh" "$library" "$work/models"
export ONDINE_MODELS="$work/models"
export ONDINE_LIB_DIR="$library" LD_LIBRARY_PATH="$library" CARGO_TARGET_DIR="$work/target"
mkdir -p "$work/files"
export TMPDIR="$work/files"
export RUSTFLAGS="-D warnings" RUSTDOCFLAGS="-D warnings"
cd "$work/crates"
cargo test --offline -q --jobs "${JOBS:-1}"
cd "$work"
rm -f tuned.onnx
"$CARGO_TARGET_DIR/debug/examples/quick_start"
[ -s tuned.onnx ]
"$CARGO_TARGET_DIR/debug/examples/finetune" flowers.csv example.onnx
"$CARGO_TARGET_DIR/debug/examples/finetune" flowers.csv example.onnx tuned.onnx
