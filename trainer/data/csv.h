// Text in rows of separated fields (RFC 4180).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace ondine::data {

// Calls `row` with the fields and the line (from 1) where they begin. A field in double quotes may
// hold separators, line ends and, doubled, quotes. Empty lines are skipped. Error(corrupt) that
// names the line for a quote without an end or text next to a quoted field.
void parse_csv(std::string_view text, char separator,
               const std::function<void(std::span<const std::string>, std::uint64_t)>& row);

}  // namespace ondine::data
