#include "tests/support/paths.h"

#include <cstdlib>

namespace ondine::test {

std::filesystem::path source_folder() { return ONDINE_SOURCE_DIR; }
std::filesystem::path build_folder() { return ONDINE_BINARY_DIR; }

std::string command_line_program() {
  if (const char* named = std::getenv("ONDINE_PROGRAM")) return named;
  return build_folder() / "bin/ondine";
}

}  // namespace ondine::test
