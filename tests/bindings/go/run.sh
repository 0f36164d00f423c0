#!/bin/sh
# Builds the Go module over libondine.so, runs its tests, the example and the quick start of the
# README: run.sh SOURCE LIBRARY-FOLDER WORK [--random SECONDS]. Exits with 77, which ctest counts as
# skipped, where a program is missing.
set -eu
source=$1
library=$2
work=$3
[ "${4:-}" != --random ] || export ONDINE_RANDOM_SECONDS="$5"
command -v go >/dev/null || { echo "skipped: no go (Go 1.21 from https://go.dev/dl)"; exit 77; }
command -v pkg-config >/dev/null || { echo "skipped: no pkg-config (Debian package pkgconf)"; exit 77; }
minor=$(go version | sed -n 's/.* go1\.\([0-9]*\).*/\1/p')
[ "${minor:-0}" -ge 21 ] || { echo "skipped: $(go version) is older than 1.21"; exit 77; }
rm -rf "$work/module" "$work/flowers"
mkdir -p "$work/flowers" "$work/pkgconfig"
cp -R "$source/bindings/go" "$work/module"
cp "$source"/tests/bindings/go/*_test.go "$work/module"
cat >"$work/pkgconfig/ondine.pc" <<END
Name: ondine
Description: the library of this build
Version: 0
Cflags: -I$source/include
Libs: -L$library -londine
END
export PKG_CONFIG_PATH="$work/pkgconfig" LD_LIBRARY_PATH="$library"
"$source/tests/bindings/models.sh" "$library" "$work/models"
export ONDINE_MODELS="$work/models"
export GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local GOCACHE="$work/cache" GOMAXPROCS="${JOBS:-2}"
cd "$work/module"
unformatted=$(gofmt -l .)
[ -z "$unformatted" ] || { echo "gofmt -w: $unformatted" >&2; exit 1; }
go vet -p 1 . ./examples/...
GODEBUG=cgocheck=1 go test -p 1 -count 1 .
"$source/tests/bindings/quick_start.sh" go README.md "$work/flowers/main.go" "$work/flowers.csv"
(
  cd "$work/flowers"
  go mod init flowers
  go mod edit -require=ondine@v0.1.0 -replace=ondine="$work/module"
  go build -o "$work/quick_start"
)
go build -o "$work/finetune" ./examples/finetune
cd "$work"
rm -f tuned.onnx
./quick_start
[ -s tuned.onnx ]
./finetune flowers.csv example.onnx
./finetune flowers.csv example.onnx tuned.onnx
