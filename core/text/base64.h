// Bytes as text (RFC 4648, section 4).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ondine {

std::string to_base64(std::span<const std::uint8_t> bytes);
std::string to_base64(std::string_view bytes);

// Error(corrupt) for a text that to_base64 does not write.
std::string from_base64(std::string_view text);

}  // namespace ondine
