// The first look at bytes from outside: well-formed, not too deep, and how much memory protobuf
// would take to parse them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ondine/limits.h>

#include "proto/wire_schema.h"

namespace ondine {

// Deeper nesting is refused whatever Limits::message_depth says: parsing and importing recurse.
inline constexpr int deepest_message = 1000;

// Memory that decoding may take, whatever Limits::parse_bytes says. A file that needs more per byte
// consists of empty messages, unlike any model (nodes with short names take about 20).
constexpr std::uint64_t parse_bytes_of(std::size_t input_bytes) noexcept {
  return (std::uint64_t{24} << 20) + 24 * std::uint64_t{input_bytes};
}

// Reads the whole message without allocating more than a few bytes per level of nesting; returns
// the memory estimate. Throws Error(invalid_model) for what is not a message `root` (cut off,
// groups, wire types or enumerators that do not fit a field, text that is not UTF-8) and
// Error(limit) above message_depth, name_length, parse_bytes or parse_bytes_of(). Unknown fields
// are skipped.
std::uint64_t scan_wire(std::span<const std::byte> bytes, MessageId root, const Limits& limits);

}  // namespace ondine
