// Folders of the shared collections of cases, if they are there.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ondine::test {

// The folder of the collections: $ONDINE_CASES, or ../shared/cases beside the source folder.
std::filesystem::path cases_folder();

// The folders below `collection` (for example "backend/simple") that are cases, sorted; empty
// when it is not there.
std::vector<std::filesystem::path> case_folders(const std::string& collection);

}  // namespace ondine::test
