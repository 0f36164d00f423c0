#!/bin/sh
# Fails when a source file is not formatted as .clang-format says.
set -eu
cd "$(dirname "$0")/../.."
git ls-files '*.h' '*.cpp' | xargs clang-format --dry-run --Werror
