// The words in names of files and folders that tell training, validation and test data.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace ondine::data {

enum class Split { unknown, train, validation, test };

Split split_of(std::string word);
// Cuts the word that names a split off the front or end.
Split cut_split(std::string& name);

// Files by the words in their names. Test data validates where nothing else does, and is left out
// elsewhere. Data of one part alone is the training part, whatever it is named.
struct SplitFiles {
  std::vector<std::filesystem::path> train;
  std::vector<std::filesystem::path> validation;
  std::string note;  // what is left out; may be empty
};
SplitFiles split_files(std::span<const std::filesystem::path> files);

// For a note: "'a', 'b' and 3 more are left out: ...".
std::string left_out_note(const std::vector<std::string>& names);

}  // namespace ondine::data
