# Where an example works, to be read with `.` after `here` and `name` are set: from the arguments
# [BUILD_DIR [WORK_DIR]] build, work (BUILD_DIR/NAME if absent), ondine, and threads, of the machine.
build=${1:-build}
work=${2:-$build/$name}
ondine=$build/bin/ondine
threads=$(nproc)
mkdir -p "$work"
work=$(cd "$work" && pwd)
