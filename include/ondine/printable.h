// Showing text that comes from a file.
#pragma once

#include <string>
#include <string_view>

#include <ondine/export.h>

namespace ondine {

// The text with escapes for what would act on a terminal, forge a line or change the order of
// letters: control characters and bytes that are not UTF-8 as \xNN, controls of two bytes,
// separators of lines, marks and overrides of direction as \uNNNN.
ONDINE_API std::string printable(std::string_view text);

}  // namespace ondine
