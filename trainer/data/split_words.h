// The words in names of files and folders that tell training from validation data.
#pragma once

#include <string>

namespace ondine::data {

enum class Split { unknown, train, validation };

Split split_of(std::string word);
// Cuts the word that names a split off the front or end.
Split cut_split(std::string& name);

}  // namespace ondine::data
