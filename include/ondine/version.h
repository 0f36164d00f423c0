// The version of the library that is linked.
#pragma once

namespace ondine {

// "MAJOR.MINOR.PATCH"; lives as long as the program.
const char* version() noexcept;

}  // namespace ondine
