#!/bin/sh
# dependencies_from_source.sh PREFIX
# Builds the libraries that Ondine links, from Debian's sources, as archives for any target. Configure
# Ondine with --toolchain PREFIX/toolchain.cmake and -DONDINE_STATIC=ON. What is built already stays;
# another compiler or other flags build all anew. From the environment:
#   CC CXX AR RANLIB       programs for the target (cc, c++, ar, ranlib)
#   CFLAGS CXXFLAGS        flags for the libraries and for Ondine
#   LDFLAGS                flags for what Ondine links
#   SYSTEM PROCESSOR       where the target is another machine: as CMAKE_SYSTEM_NAME (Linux), ...
#   TOOLCHAIN              a toolchain file of the compiler's own, if it has one
#   LAUNCHER               a program before the compiler, as ccache
#   SOURCES JOBS           folder of sources, shared by all targets (build-sources); 1
#   LIBRARIES              which of protobuf boost1.74 zlib libjpeg-turbo libpng1.6 libwebp re2 pcre2
#                          utf8proc; all
set -eu
[ $# -eq 1 ] || { sed -n '2,15p' "$0" >&2; exit 2; }
mkdir -p "$1/include" "$1/lib/cmake/protobuf" "$1/share/eigen3"
prefix=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
: "${CC:=cc}" "${CXX:=c++}" "${AR:=ar}" "${RANLIB:=ranlib}" "${CFLAGS:=}" "${CXXFLAGS:=}" "${LDFLAGS:=}"
: "${SYSTEM:=}" "${PROCESSOR:=}" "${TOOLCHAIN:=}" "${LAUNCHER:=}" "${SOURCES:=build-sources}" "${JOBS:=1}"

: "${LIBRARIES:=protobuf boost1.74 zlib libjpeg-turbo libpng1.6 libwebp re2 pcre2 utf8proc}"

# shellcheck disable=SC2086
scripts/debian_sources.sh "$SOURCES" $LIBRARIES
sources=$(cd "$SOURCES" && pwd)
# Names of files in messages, such as those of Protobuf, do not depend on where they lie.
map="-ffile-prefix-map=$sources=sources -ffile-prefix-map=$prefix=prefix"
CFLAGS="$map${CFLAGS:+ $CFLAGS}" CXXFLAGS="$map${CXXFLAGS:+ $CXXFLAGS}"

# write FILE: standard input, if that is not what the file holds.
write() {
  cat >"$1.new"
  if cmp -s "$1.new" "$1"; then rm "$1.new"; else mv "$1.new" "$1"; fi
}

path() { command -v "$1" || { echo "no program $1" >&2; exit 1; }; }

write_toolchain() {
  [ -z "$TOOLCHAIN" ] || echo "include($TOOLCHAIN)"
  [ -z "$SYSTEM" ] || printf 'set(CMAKE_SYSTEM_NAME %s)\nset(CMAKE_SYSTEM_PROCESSOR %s)\n' \
    "$SYSTEM" "$PROCESSOR"
  [ -z "$LDFLAGS" ] || printf "set(CMAKE_%s_LINKER_FLAGS_INIT \"$LDFLAGS\")\n" EXE SHARED MODULE
  cat <<END
set(CMAKE_C_COMPILER $(path "$CC"))
set(CMAKE_CXX_COMPILER $(path "$CXX"))
set(CMAKE_AR $(path "$AR") CACHE FILEPATH "")
set(CMAKE_RANLIB $(path "$RANLIB") CACHE FILEPATH "")
set(CMAKE_C_FLAGS_INIT "$CFLAGS")
set(CMAKE_CXX_FLAGS_INIT "$CXXFLAGS")
set(CMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES "$prefix/include")
set(CMAKE_FIND_ROOT_PATH $prefix)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_FIND_PACKAGE_PREFER_CONFIG ON)
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
set(Boost_NO_BOOST_CMAKE ON)
END
}

# Headers without a library are the same for every target.
link_headers() {
  for header in boost eigen3 nlohmann toml++ CLI dlpack; do
    [ -e "/usr/include/$header" ] ||
      { echo "no /usr/include/$header: run scripts/install_dependencies.sh" >&2; exit 1; }
    ln -sfn "/usr/include/$header" "$prefix/include/$header"
  done
  # For tests alone.
  [ ! -e /usr/include/catch2 ] || ln -sfn /usr/include/catch2 "$prefix/include/catch2"
  grep -q 'BOOST_LIB_VERSION "1_74"' /usr/include/boost/version.hpp ||
    { echo "/usr/include/boost is not of version 1.74, as the library that is built" >&2; exit 1; }
  ln -sfn /usr/share/eigen3/cmake "$prefix/share/eigen3/cmake"
}

# The runtime for the target, and the compiler of .proto files of this machine.
write_protobuf_config() {
  cat <<'END'
get_filename_component(_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET protobuf::libprotobuf-lite)
  find_package(Threads REQUIRED)
  add_library(protobuf::libprotobuf-lite STATIC IMPORTED)
  set_target_properties(protobuf::libprotobuf-lite PROPERTIES
    IMPORTED_LOCATION "${_prefix}/lib/libprotobuf-lite.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_prefix}/include"
    INTERFACE_LINK_LIBRARIES Threads::Threads)
endif()
if(NOT TARGET protobuf::protoc)
  find_program(Protobuf_PROTOC_EXECUTABLE protoc REQUIRED)
  add_executable(protobuf::protoc IMPORTED)
  set_target_properties(protobuf::protoc PROPERTIES
    IMPORTED_LOCATION "${Protobuf_PROTOC_EXECUTABLE}")
endif()
END
}

# Headers alone, for tests.
write_catch_config() {
  cat <<'END'
if(NOT TARGET Catch2::Catch2)
  add_library(Catch2::Catch2 INTERFACE IMPORTED)
endif()
END
}

write_toolchain | write "$prefix/toolchain.cmake"
write_protobuf_config | write "$prefix/lib/cmake/protobuf/protobuf-config.cmake"
mkdir -p "$prefix/lib/cmake/Catch2"
write_catch_config | write "$prefix/lib/cmake/Catch2/Catch2Config.cmake"
link_headers
# A build keeps its compiler: another one begins anew.
work=$prefix/work
cmp -s "$prefix/toolchain.cmake" "$work/toolchain.cmake" || rm -rf "$work"
mkdir -p "$work"
cp "$prefix/toolchain.cmake" "$work/toolchain.cmake"
cmake -S cmake/dependencies -B "$work" -G Ninja --toolchain "$prefix/toolchain.cmake" \
  -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" -DONDINE_SOURCES="$sources" \
  -DONDINE_LIBRARIES="$(echo "$LIBRARIES" | tr -s ' ' ';')" \
  -DCMAKE_C_COMPILER_LAUNCHER="$LAUNCHER" -DCMAKE_CXX_COMPILER_LAUNCHER="$LAUNCHER"
cmake --build "$work" -j "$JOBS"
cmake --install "$work" >/dev/null
