// The version of the library that is linked.
#pragma once

#include <ondine/export.h>

namespace ondine {

// "MAJOR.MINOR.PATCH"; lives as long as the program.
ONDINE_API const char* version() noexcept;

}  // namespace ondine
