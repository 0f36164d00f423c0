// Sizes for people.
#pragma once

#include <cstdint>
#include <string>

#include <ondine/export.h>

namespace ondine {

// "4 B", "1.0 KiB": in the largest unit of which there is one, up to TiB.
ONDINE_API std::string human_bytes(std::uint64_t bytes);

}  // namespace ondine
