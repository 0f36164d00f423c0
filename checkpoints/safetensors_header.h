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

// The format's name for a dtype; empty if there is none.
std::string_view safetensors_name(DType dtype) noexcept;

// The header, padded with spaces to a multiple of 8. Throws Error(mismatch) for a name that is not
// UTF-8.
std::string write_safetensors_header(const SafetensorsHeader& header);
// Parses a header. Throws Error(corrupt) for text that violates a rule of the format (offsets are
// not checked), Error(unsupported) for a dtype that this library lacks, Error(limit) for a rank
// above Shape::max_rank. Takes memory in proportion to the text.
SafetensorsHeader read_safetensors_header(std::string_view text);

}  // namespace ondine
