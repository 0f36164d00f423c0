// Numbers as text, and writing that reports its errors.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace ondine::records {

// Error(io) that names the file unless all that was written so far succeeded.
void require_written(const std::ofstream& out, const std::filesystem::path& file);

// The shortest text that reads as the same number; "nan", "inf" and "-inf" otherwise.
std::string number_text(double value);
// Number for JSON: as number_text(), but "null" for those that JSON lacks.
std::string json_number(double value);
std::string json_text(const std::string& text);

}  // namespace ondine::records
