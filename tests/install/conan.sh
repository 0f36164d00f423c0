#!/bin/sh
# Creates the package of Conan over the libraries of the system, without a network, and builds a
# program with it: conan.sh SOURCE WORK. Exits with 77 where there is no Conan 2.
set -eu
source=$1
work=$2
conan=${CONAN:-conan}
command -v "$conan" >/dev/null || { echo "skipped: no conan (from PyPI)"; exit 77; }
mkdir -p "$work"
export CONAN_HOME="$work/conan"
"$conan" profile detect --force >/dev/null
version() { dpkg-query -W -f='${Version}' "$1" | sed 's/^[0-9]*://; s/[^0-9.].*//'; }
cat >"$work/system" <<END
include(default)
[settings]
build_type=Release
compiler.cppstd=20
[platform_requires]
boost/$(version libboost-serialization1.74-dev)
protobuf/$(version libprotobuf-dev)
zlib/$(version zlib1g-dev)
eigen/$(version libeigen3-dev)
nlohmann_json/$(version nlohmann-json3-dev)
dlpack/$(version libdlpack-dev)
[platform_tool_requires]
protobuf/$(version libprotobuf-dev)
[conf]
tools.build:jobs=${JOBS:-1}
tools.cmake.cmaketoolchain:generator=Ninja
tools.cmake.cmaketoolchain:extra_variables={"CMAKE_DISABLE_PRECOMPILE_HEADERS": "ON"}
END
"$conan" create "$source/packaging/conan" --profile:all="$work/system" --no-remote
cat >"$work/conanfile.txt" <<END
[requires]
ondine/[>=0.1]
[generators]
CMakeDeps
CMakeToolchain
END
cat >"$work/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(program LANGUAGES CXX)
find_package(ondine REQUIRED CONFIG)
add_executable(program main.cpp)
target_link_libraries(program PRIVATE ondine::ondine)
END
cp "$source/tests/install/consumer/main.cpp" "$work"
"$conan" install "$work" --profile:all="$work/system" --no-remote --output-folder="$work/program"
cmake -S "$work" -B "$work/program" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_TOOLCHAIN_FILE="$work/program/conan_toolchain.cmake"
cmake --build "$work/program"
cd "$work/program"
./program
