// Scans untrusted bytes before protobuf parses them: well-formedness, depth of nesting and the
// memory that parsing would take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ondine/limits.h>

#include "proto/wire_schema.h"

namespace ondine {

// Upper bound on Limits::message_depth: parsing and importing recurse.
inline constexpr int deepest_message = 1000;

// Upper bound on Limits::parse_bytes for a file of this size. A file that needs more memory per
// byte consists of empty messages, unlike any model (nodes with short names take about 20).
constexpr std::uint64_t parse_bytes_of(std::size_t input_bytes) noexcept {
  return (std::uint64_t{24} << 20) + 24 * std::uint64_t{input_bytes};
}

// Scans the whole message, allocating only a few bytes per level of nesting; returns the memory
// estimate. Throws Error(invalid_model) for bytes that are not a message `root` (truncated, groups,
// wire types or enumerators that do not match a field, text that is not UTF-8) and
// Error(limit) above message_depth, name_length, parse_bytes or parse_bytes_of(). Unknown fields
// are skipped.
std::uint64_t scan_wire(std::span<const std::byte> bytes, MessageId root, const Limits& limits);

}  // namespace ondine
