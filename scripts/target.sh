# shellcheck shell=sh
# Read by scripts/machines.sh and scripts/wheels.sh, from the project's folder: what builds for the
# machine $machine of scripts/targets.txt. From the environment: MACHINES (build-machines), JOBS (1).
: "${MACHINES:=build-machines}" "${JOBS:=1}"

# Sets triple, system, packages, what follows from them, and emulator, which is empty for this machine.
read_target() {
  row=$(sed -n "s/^$machine  *//p" scripts/targets.txt)
  [ -n "$row" ] || {
    echo "no machine $machine; there are:" $(sed -n 's/^\([a-z][^ ]*\) .*/\1/p' scripts/targets.txt) >&2
    exit 2
  }
  read -r triple emulator system packages <<END
$row
END
  case $(uname -m) in "$machine" | "${machine}l") emulator= ;; esac
  # As CMake names the system and its processor, the name in an archive's, the end of a program's
  # name, and whether there are tests for the system.
  kernel=Linux processor=$machine label=linux-$machine exe= tests=OFF
  case $triple in
    *-windows-*) kernel=Windows processor=${machine#windows-} label=$machine exe=.exe tests=ON ;;
  esac
}

# interpreter VERSION: the path of python VERSION, or nothing.
interpreter() {
  for python in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/python; do
    if "$python" -c '' 2>/dev/null; then echo "$python"; return; fi
  done
}

# get_compiler PACKAGE...: sets zig, and tools, an environment of Python with it and the PACKAGEs.
get_compiler() {
  newest=$(interpreter 3.12)
  mkdir -p "$MACHINES"
  MACHINES=$(cd "$MACHINES" && pwd)
  tools=$MACHINES/tools
  PYTHON=${newest:-python3} scripts/python_packages.sh "$tools" ziglang "$@"
  zig=$("$tools/bin/python" -c 'import os, ziglang; print(os.path.dirname(ziglang.__file__))')/zig
}

# Compilers are programs without arguments to CMake. Zig has words of its own for a precompiled
# header.
wrapper() {
  cat >"$work/bin/$1" <<END
#!/bin/sh
case " \$* " in
  *" -emit-pch "*)
    count=\$#
    while [ "\$count" -gt 0 ]; do
      argument=\$1
      shift
      count=\$((count - 1))
      if [ "\$argument" = -Xclang ] && [ "\$1" = -emit-pch ]; then
        shift
        count=\$((count - 1))
      elif [ "\$argument" != -c ]; then
        set -- "\$@" "\$argument"
      fi
    done
    ;;
esac
exec "$zig" $2 "\$@"
END
  chmod +x "$work/bin/$1"
}

# Builds the libraries in $work/prefix and configures Ondine in $work/library; what is there stays.
configure_target() {
  work=$MACHINES/$machine
  mkdir -p "$work/bin"
  wrapper cc "cc -target $triple"
  wrapper c++ "c++ -target $triple"
  wrapper ar ar
  wrapper ranlib ranlib
  launcher=$(command -v ccache || :)
  export CCACHE_COMPILERTYPE=clang
  export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime
  CCACHE_COMPILERCHECK="string:ziglang $("$zig" version) $triple"
  export CCACHE_COMPILERCHECK
  # zig keeps frame pointers and debugging information unless told otherwise. For flags like -O2 and -s
  # it builds a C++ library of their own: they are for the checks of CMake as well.
  CC=$work/bin/cc CXX=$work/bin/c++ AR=$work/bin/ar RANLIB=$work/bin/ranlib LAUNCHER=$launcher \
    SYSTEM=${emulator:+$kernel} PROCESSOR=$processor CFLAGS="-O2 -g0 -fomit-frame-pointer" \
    CXXFLAGS="-O2 -g0 -fomit-frame-pointer -Xclang -fno-pch-timestamp" LDFLAGS=-s JOBS=$JOBS \
    scripts/dependencies_from_source.sh "$work/prefix"
  cmake -S . -B "$work/library" -G Ninja --toolchain "$work/prefix/toolchain.cmake" \
    -DCMAKE_BUILD_TYPE=Release -DONDINE_STATIC=ON -DONDINE_TESTS=$tests -DONDINE_EXAMPLES=OFF \
    -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher"
}

# Sets foreign: a Python 3.13 of the machine with NumPy and pytest, which the emulator runs.
get_python() {
  root=$MACHINES/$machine-python
  SUITE=trixie scripts/foreign_packages.sh "$machine" "$root" python3-numpy python3-pytest
  ln -sfn usr/lib "$root/lib"
  lib=$root/usr/lib/$machine-linux-gnu
  foreign=$work/bin/python
  cat >"$foreign" <<END
#!/bin/sh
exec $emulator -L "$root" -E LD_LIBRARY_PATH="$lib/blas:$lib/lapack" "$root/usr/bin/python3.13" "\$@"
END
  chmod +x "$foreign"
}

# copy_licenses FOLDER: the terms of the libraries that the build becomes part of.
copy_licenses() {
  rm -rf "$1"
  cp -r "$work/prefix/share/licenses" "$1"
  cp /usr/share/doc/libeigen3-dev/copyright "$1/eigen.txt"
  cp "$(dirname "$zig")/lib/libcxx/LICENSE.TXT" "$1/libcxx.txt"
}
