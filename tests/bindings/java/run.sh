#!/bin/sh
# Builds the Maven artifact over libondine.so and runs its tests, the example and the quick start of
# the README on every JDK that is there, from 22 on by java.lang.foreign and by JNI: run.sh SOURCE
# LIBRARY-FOLDER WORK [--random SECONDS]. Exits with 77, which ctest counts as skipped, where there is
# no JDK 17 or later.
set -eu
source=$1
library=$2
work=$3
seconds=2
[ "${4:-}" != --random ] || seconds=$5
command -v javac >/dev/null || {
  echo "skipped: no javac (Debian package openjdk-17-jdk-headless)"
  exit 77
}
release=$(javac -version 2>&1 | sed -n 's/^javac \([0-9]*\).*/\1/p')
[ "${release:-0}" -ge 17 ] || { echo "skipped: $(javac -version 2>&1) is older than 17"; exit 77; }
rm -rf "$work/classes" "$work/files"
mkdir -p "$work/classes" "$work/files"
"$source/tests/bindings/models.sh" "$library" "$work/models"
"$source/bindings/java/build.sh" "$library" "$work/build"
jar=$(ls "$work"/build/ondine-*.jar)
javac -Xlint:all --release 17 -cp "$jar" -d "$work/classes" \
  "$source"/tests/bindings/java/*.java "$source/bindings/java/examples/TuneTable.java"
"$source/tests/bindings/quick_start.sh" java "$source/bindings/java/README.md" \
  "$work/Flowers.java" "$work/flowers.csv"
cd "$work"

tests() {  # java, options
  java=$1
  shift
  "$java" -ea -Dwork="$work/files" -Dmodels="$work/models" -Dseconds="$seconds" "$@" -cp "$jar:$work/classes" RandomTest
}

seen=
for javac in "$(command -v javac)" /usr/lib/jvm/*/bin/javac; do
  java=$(dirname "$(readlink -f "$javac")")/java
  release=$("$javac" -version 2>&1 | sed -n 's/^javac \([0-9]*\).*/\1/p')
  case " $seen " in *" $java "*) continue ;; esac
  seen="$seen $java"
  [ "${release:-0}" -ge 17 ] || continue
  echo "Java $release"
  tests "$java" -Xcheck:jni -Dondine.jni=true >"$work/jni.log" 2>&1 || { cat "$work/jni.log"; exit 1; }
  grep 'tests passed' "$work/jni.log"
  native=
  if [ "$release" -ge 22 ]; then
    native=--enable-native-access=ALL-UNNAMED
    tests "$java" "$native"
  fi
  rm -f tuned.onnx
  # shellcheck disable=SC2086
  "$java" $native -cp "$jar" Flowers.java
  [ -s tuned.onnx ]
  # shellcheck disable=SC2086
  "$java" $native -cp "$jar:$work/classes" TuneTable flowers.csv example.onnx
  # shellcheck disable=SC2086
  "$java" $native -cp "$jar:$work/classes" TuneTable flowers.csv example.onnx tuned.onnx
done
