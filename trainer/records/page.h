// The frame that all pages share.
#pragma once

#include <filesystem>
#include <string>

namespace ondine::records {

// A number with its name.
std::string tile(const std::string& name, const std::string& value);

// Replaces the file; Error(io). outcome: a sentence below the title, marked where the run failed.
void write_page(const std::filesystem::path& file, const std::string& title,
                const std::string& outcome, bool failed, const std::string& body);

}  // namespace ondine::records
