#!/bin/sh
# Installs what is missing, builds with every warning an error, checks the sources and runs all
# tests. Ends with the reason of each test that was skipped, and fails where one is not true.
#   --asan   unit tests, the conformance cases and the fuzz corpora under address and undefined
#            behaviour sanitizers
#   --tsan   the tests of threads under the thread sanitizer
#   --fuzz   the fuzz targets with libFuzzer (clang), 60 s each (SECONDS_EACH=60); a target goes on
#            to the next after a finding, and the findings are named in the end
#   --coverage  lines and branches that the unit tests, the command-line tests and the conformance
#            cases reach, in build-coverage/coverage
set -eu
cd "$(dirname "$0")/.."
scripts/install_dependencies.sh

fuzz_targets="calls chat checkpoint data model pieces load export lower prepare"

sanitized() {  # preset, targets
  preset=$1
  shift
  cmake --preset "$preset" -DONDINE_EXAMPLES=OFF
  # shellcheck disable=SC2086
  cmake --build --preset "$preset" --target "$@"
}

case "${1:-}" in
  --asan)
    # shellcheck disable=SC2046,SC2086
    sanitized asan ondine_cli test_core test_graph test_proto test_checkpoints test_trainer \
      test_kernels test_bindings_c $(printf 'fuzz_%s ' $fuzz_targets)
    ctest --preset asan -R '^(core|graph|proto|checkpoints|trainer|kernels|bindings/c|cases/.*|fuzz/.*)$'
    ;;
  --tsan)
    sanitized tsan test_core test_trainer test_bindings_c
    ctest --preset tsan -R '^(core|trainer|bindings/c)$'
    ;;
  --fuzz)
    scripts/install_dependencies.sh clang-19 libclang-rt-19-dev
    cmake -S . -B build-fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++-19 -DCMAKE_C_COMPILER=clang-19 \
      -DCMAKE_BUILD_TYPE=Sanitized -DONDINE_FUZZ=ON -DONDINE_EXAMPLES=OFF \
      -DONDINE_TOOLS=OFF -DONDINE_SANITIZE=fuzzer-no-link,address,undefined
    # shellcheck disable=SC2046,SC2086
    cmake --build build-fuzz --target $(printf 'fuzz_%s ' $fuzz_targets)
    rm -rf build-fuzz/findings
    findings=
    for name in $fuzz_targets; do
      mkdir -p "build-fuzz/corpus/$name" "build-fuzz/findings/$name"
      LSAN_OPTIONS=suppressions=tests/fuzz/leaks.supp "build-fuzz/bin/fuzz_$name" \
        -max_total_time="${SECONDS_EACH:-60}" -timeout=10 \
        -rss_limit_mb=2048 -artifact_prefix="build-fuzz/findings/$name/" \
        "build-fuzz/corpus/$name" "tests/fuzz/corpus/$name" || findings="$findings fuzz_$name"
    done
    if [ -n "$findings" ]; then
      echo "findings of:$findings" >&2
      find build-fuzz/findings -type f >&2
      exit 1
    fi
    echo "no findings"
    ;;
  --coverage)
    scripts/python_packages.sh build-coverage/python gcovr
    cmake -S . -B build-coverage -G Ninja -DCMAKE_BUILD_TYPE=Coverage -DONDINE_EXAMPLES=OFF \
      -DCMAKE_CXX_FLAGS_COVERAGE="-O1 --coverage -fprofile-update=atomic"
    cmake --build build-coverage --target ondine_cli test_core test_graph test_autodiff test_proto \
      test_checkpoints test_trainer test_kernels test_system
    find build-coverage -name '*.gcda' -delete
    ctest --test-dir build-coverage --output-on-failure -j 2 \
      -R '^(core|graph|autodiff|proto|checkpoints|trainer|kernels|system|cases/.*)$'
    build-coverage/python/bin/python tools/dev/coverage.py build-coverage
    ;;
  "")
    tools/dev/check_layers.py
    tools/dev/check_operators.py
    tools/dev/check_format.sh
    cmake --preset release -DONDINE_WERROR=ON
    cmake --build --preset release
    failed=0
    ctest --preset release --output-junit "$PWD/build/tests.xml" || failed=1
    scripts/report_skips.py build/tests.xml || failed=1
    exit $failed
    ;;
  *)
    sed -n '2,11p' "$0" >&2
    exit 2
    ;;
esac
