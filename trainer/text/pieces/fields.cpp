#include "trainer/text/pieces/fields.h"

#include <bit>

#include "core/message.h"

namespace ondine::text {
namespace {

void require_type(const Field& field, unsigned wire_type, const char* name) {
  if (field.wire_type != wire_type) {
    fail(ErrorCode::corrupt, name, " has wire type ", field.wire_type, " instead of ", wire_type);
  }
}

}  // namespace

std::string_view Field::block(const char* name) const {
  require_type(*this, 2, name);
  return content;
}

std::uint64_t Field::integer(const char* name) const {
  require_type(*this, 0, name);
  return value;
}

float Field::number32(const char* name) const {
  require_type(*this, 5, name);
  return std::bit_cast<float>(static_cast<std::uint32_t>(value));
}

bool FieldReader::next(Field& field) {
  if (at_ == message_.size()) return false;
  field = {};
  const std::uint64_t tag = varint();
  field.wire_type = static_cast<unsigned>(tag & 7U);
  if (tag >> 3 == 0 || tag > 0xffffffffU) {
    fail(ErrorCode::corrupt, "an impossible field number ", tag >> 3);
  }
  field.number = static_cast<std::uint32_t>(tag >> 3);
  switch (field.wire_type) {
    case 0:
      field.value = varint();
      break;
    case 1:
      field.value = fixed(8);
      break;
    case 2:
      field.content = take(varint());
      break;
    case 5:
      field.value = fixed(4);
      break;
    default:
      fail(ErrorCode::corrupt, "field ", field.number, " has the unknown wire type ",
           field.wire_type);
  }
  return true;
}

std::uint64_t FieldReader::varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    const auto byte = static_cast<unsigned char>(take(1)[0]);
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return value;
  }
  fail(ErrorCode::corrupt, "a number is longer than ten bytes");
}

std::string_view FieldReader::take(std::uint64_t bytes) {
  const std::size_t left = message_.size() - at_;
  if (bytes > left) {
    fail(ErrorCode::corrupt, "a field needs ", bytes, " bytes where ", left, " are left");
  }
  const std::string_view taken = message_.substr(at_, static_cast<std::size_t>(bytes));
  at_ += taken.size();
  return taken;
}

std::uint64_t FieldReader::fixed(std::size_t bytes) {
  std::uint64_t value = 0;
  unsigned shift = 0;
  for (const char c : take(bytes)) {
    value |= std::uint64_t{static_cast<unsigned char>(c)} << shift;
    shift += 8;
  }
  return value;
}

}  // namespace ondine::text
