// Fields of a protobuf message in an untrusted file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ondine::text {

struct Field {
  std::uint32_t number = 0;
  unsigned wire_type = 0;
  std::uint64_t value = 0;   // of a number: the varint, or the bits of a fixed width
  std::string_view content;  // of a block

  // Error(corrupt) naming the field when it has another wire type.
  std::string_view block(const char* name) const;
  std::uint64_t integer(const char* name) const;
  bool flag(const char* name) const { return integer(name) != 0; }
  float number32(const char* name) const;
};

class FieldReader {
 public:
  explicit FieldReader(std::string_view message) : message_(message) {}

  // The next field; false at the end. Error(corrupt) for what is none.
  bool next(Field& field);

 private:
  std::uint64_t varint();
  std::string_view take(std::uint64_t bytes);
  std::uint64_t fixed(std::size_t bytes);

  std::string_view message_;
  std::size_t at_ = 0;
};

}  // namespace ondine::text
