// Parts of pages in Markdown.
#pragma once

#include <string>
#include <vector>

namespace ondine::cli {

// A cell of a table.
std::string cell(const std::string& text);
// "`a`, `b`"
std::string in_code(const std::vector<std::string>& words);

}  // namespace ondine::cli
