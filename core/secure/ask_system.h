#pragma once

#include <cstddef>
#include <span>

namespace ondine {

// Fills `bytes` from the system's cryptographic generator; false where it has none, or refuses.
bool ask_system(std::span<std::byte> bytes) noexcept;

}  // namespace ondine
