#pragma once

#include <filesystem>
#include <string_view>

namespace ondine {

// Characters that separate the folders in a name.
inline constexpr std::string_view separators =
    std::filesystem::path::preferred_separator == '/' ? "/" : "/\\";

}  // namespace ondine
