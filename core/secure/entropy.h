// Random bytes of the operating system.
#pragma once

#include <cstddef>
#include <span>

namespace ondine {

// Fills `bytes`, at most 256 of them, with what the system's cryptographic generator gives. Throws
// Error(unsupported) where the system has none, or refuses.
void fill_with_entropy(std::span<std::byte> bytes);

// Whether a source could fill the bytes.
using EntropySource = bool (*)(std::span<std::byte> bytes) noexcept;
// Replaces the entropy source, for tests and for systems on which the library knows none. Returns
// the previous source. Thread-safe.
EntropySource replace_entropy_source(EntropySource source) noexcept;

}  // namespace ondine
