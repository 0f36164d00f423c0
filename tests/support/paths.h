// Folders that the tests were configured with. Only paths.cpp knows them, so that compiled tests do
// not depend on where they were compiled.
#pragma once

#include <filesystem>
#include <string>

namespace ondine::test {

std::filesystem::path source_folder();  // of the project
std::filesystem::path build_folder();

// The command line under test: $ONDINE_PROGRAM, or bin/ondine of the build folder.
std::string command_line_program();

}  // namespace ondine::test
