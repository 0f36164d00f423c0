// Names of data files.
#pragma once

#include <filesystem>
#include <string>

namespace ondine::data {

// In small letters: ".png" of "A.PNG".
std::string extension_of(const std::filesystem::path& file);
// The extension of the content: ".csv" of "A.CSV" and of "a.csv.gz".
std::string content_extension(const std::filesystem::path& file);
// The name without folders and without content_extension() and ".gz".
std::string content_stem(const std::filesystem::path& file);

}  // namespace ondine::data
