#!/bin/sh
# Builds the Maven artifact: build.sh LIBRARY-FOLDER WORK. WORK/ondine-VERSION.jar has the native
# library inside, JNI for Java 17 and, where a JDK 22 or later is found, java.lang.foreign. JAVA_HOME
# names the JDK 17 or later, JAVA_HOME_22 the later one.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
library=$1
work=$2
version=$(sed -n 's/^project(ondine VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")
home=${JAVA_HOME:-$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")}

later() {  # a JDK 22 or later
  for one in "${JAVA_HOME_22:-}" "$home" /usr/lib/jvm/*; do
    release=$("$one/bin/javac" -version 2>/dev/null | sed -n 's/^javac \([0-9]*\).*/\1/p')
    if [ "${release:-0}" -ge 22 ]; then echo "$one" && return; fi
  done
}

rm -rf "$work"
mkdir -p "$work/classes"
"$source/tools/dev/c_declarations.py" java "$work/made"
find "$source/bindings/java/src/java" "$work/made/java" -name '*.java' >"$work/sources"
"$home/bin/javac" -Xlint:all --release 17 -d "$work/classes" "@$work/sources"
case $(uname -m) in x86_64) machine=amd64 ;; *) machine=$(uname -m) ;; esac
native="$work/classes/native/linux-$machine"
mkdir -p "$native"
${STRIP:-strip} --strip-unneeded -o "$native/libondine.so" "$library/libondine.so"
${CC:-cc} -std=c11 -O2 -fPIC -shared -Wall -Wextra -Werror -I"$home/include" \
  -I"$home/include/linux" -I"$source/include" -o "$native/libondine_jni.so" \
  "$source/bindings/java/src/c/jni.c" "$work/made/jni_calls.c" -L"$library" -londine \
  -Wl,-rpath,'$ORIGIN'
pom="$work/classes/META-INF/maven/org.ondine/ondine"
mkdir -p "$pom"
sed "s/@VERSION@/$version/" "$source/bindings/java/pom.xml" >"$pom/pom.xml"
cp "$source/LICENSE" "$source/NOTICE" "$work/classes/META-INF"
printf 'Multi-Release: true\nAutomatic-Module-Name: org.ondine\n' >"$work/manifest"
jdk22=$(later)
if [ -n "$jdk22" ]; then
  find "$source/bindings/java/src/java22" "$work/made/java22" -name '*.java' >"$work/sources22"
  "$jdk22/bin/javac" -Xlint:all,-restricted --release 22 -cp "$work/classes" \
    -d "$work/classes/META-INF/versions/22" "@$work/sources22"
else
  echo "without java.lang.foreign: there is no JDK 22 or later"
fi
"$home/bin/jar" --create --file "$work/ondine-$version.jar" --manifest "$work/manifest" \
  -C "$work/classes" .
cp "$pom/pom.xml" "$work/ondine-$version.pom"
