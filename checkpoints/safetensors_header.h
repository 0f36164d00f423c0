// The JSON header of a .safetensors file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <ondine/dtype.h>
#include <ondine/shape.h>

namespace ondine {

struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::undefined;
  Shape shape;
  std::uint64_t begin = 0;  // offsets into the bytes after the header
  std::uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;
  std::map<std::string, std::string> metadata;
};

// The format's name of a dtype; empty when it has none.
std::string_view safetensors_name(DType dtype) noexcept;

// Padded with spaces to a multiple of 8. Error(mismatch) for a name that is no UTF-8.
std::string write_safetensors_header(const SafetensorsHeader& header);
// Error(corrupt) unless the text is a header in every rule of the format but those on offsets,
// Error(unsupported) for a dtype this library does not have, Error(limit) for a rank above
// Shape::max_rank. Memory in proportion to the text.
SafetensorsHeader read_safetensors_header(std::string_view text);

}  // namespace ondine
