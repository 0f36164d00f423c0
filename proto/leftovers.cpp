#include "proto/leftovers.h"

#include <algorithm>
#include <cstring>

#include <ondine/dtype.h>

#include "proto/tensor_fields.h"
#include "proto/wire_reader.h"
#include "proto/wire_schema.h"

namespace ondine {
namespace {

using Message = Leftovers::Message;

constexpr std::uint32_t data_type_field = 2;
void put_varint(std::uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80U);
  out += static_cast<char>(value);
}

void put_block(std::uint32_t number, std::string_view content, std::string& out) {
  put_varint(std::uint64_t{number} << 3 | 2U, out);
  put_varint(content.size(), out);
  out += content;
}

bool is_typed_data(const WireField& field) {
  return field.repeated && field.kind != WireKind::message && field.number != 1;
}

Message collect(std::string_view bytes, MessageId id) {
  const WireMessage& schema = wire_message(id);
  Message out;
  std::map<std::uint32_t, std::uint32_t> counts;
  bool typed = false;
  std::int32_t dtype = -1;
  for (WireReader reader(bytes); !reader.at_end();) {
    const WireEntry field = reader.next();
    const WireField* known = schema.find(field.number);
    if (known == nullptr) {
      out.unknown += field.as_it_is;
    } else if (known->kind == WireKind::message) {
      const std::uint32_t position = counts[field.number]++;
      Message part = collect(field.content, known->message);
      if (!part.empty()) out.parts.emplace(std::pair(field.number, position), std::move(part));
    } else if (id == MessageId::tensor) {
      if (field.number == data_type_field) dtype = static_cast<std::int32_t>(field.value);
      typed = typed || is_typed_data(*known);
    }
  }
  if (typed && dtype > 0 && dtype < dtype_count) out.typed_dtype = dtype;
  return out;
}

template <class T>
void put_varints(std::string_view raw, std::string& out) {
  for (std::size_t at = 0; at + sizeof(T) <= raw.size(); at += sizeof(T)) {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      bits |= std::uint64_t{static_cast<unsigned char>(raw[at + i])} << (8 * i);
    }
    const auto value = static_cast<T>(bits);
    put_varint(static_cast<std::uint64_t>(static_cast<std::int64_t>(value)), out);
  }
}

// Elements of raw_data, as the entries of the typed field of `dtype`.
std::string entries(DType dtype, std::string_view raw) {
  std::string out;
  switch (typed_field(dtype)) {
    case DataField::int64:
      put_varints<std::int64_t>(raw, out);
      break;
    case DataField::uint64:
      dtype == DType::uint64 ? put_varints<std::uint64_t>(raw, out)
                             : put_varints<std::uint32_t>(raw, out);
      break;
    case DataField::int32:
      if (dtype == DType::int32) {
        put_varints<std::int32_t>(raw, out);
      } else if (dtype == DType::int16) {
        put_varints<std::int16_t>(raw, out);
      } else if (dtype == DType::int8) {
        put_varints<std::int8_t>(raw, out);
      } else if (packed_bits(dtype) == 16) {
        put_varints<std::uint16_t>(raw, out);
      } else {
        put_varints<std::uint8_t>(raw, out);
      }
      break;
    default:
      out = raw;
  }
  return out;
}

std::uint32_t number_of(DataField field) {
  switch (field) {
    case DataField::float32:
      return 4;
    case DataField::int32:
      return 5;
    case DataField::int64:
      return 7;
    case DataField::float64:
      return 10;
    case DataField::uint64:
      return 11;
    default:
      return 0;
  }
}

// A tensor whose elements go back from raw_data to where they were, in the order of the fields.
std::string with_typed_data(std::string_view tensor, DType dtype) {
  const std::uint32_t target = number_of(typed_field(dtype));
  if (target == 0) return std::string(tensor);
  std::vector<std::pair<std::uint32_t, std::string>> fields;
  for (WireReader reader(tensor); !reader.at_end();) {
    const WireEntry field = reader.next();
    if (field.number == raw_data_field) {
      std::string moved;
      put_block(target, entries(dtype, field.content), moved);
      fields.emplace_back(target, std::move(moved));
    } else {
      fields.emplace_back(field.number, field.as_it_is);
    }
  }
  std::ranges::stable_sort(fields, {}, &std::pair<std::uint32_t, std::string>::first);
  std::string out;
  for (const auto& [number, bytes] : fields) out += bytes;
  return out;
}

std::string merge(std::string_view bytes, MessageId id, const Message& leftovers) {
  const WireMessage& schema = wire_message(id);
  std::string out;
  std::map<std::uint32_t, std::uint32_t> counts;
  for (WireReader reader(bytes); !reader.at_end();) {
    const WireEntry field = reader.next();
    const WireField* known = schema.find(field.number);
    const bool nested = known != nullptr && known->kind == WireKind::message;
    const auto part = nested ? leftovers.parts.find({field.number, counts[field.number]++})
                             : leftovers.parts.end();
    if (part == leftovers.parts.end()) {
      out += field.as_it_is;
    } else {
      put_block(field.number, merge(field.content, known->message, part->second), out);
    }
  }
  if (leftovers.typed_dtype >= 0) {
    out = with_typed_data(out, static_cast<DType>(leftovers.typed_dtype));
  }
  return out += leftovers.unknown;
}

}  // namespace

Leftovers::Leftovers(std::span<const std::byte> model)
    : root_(collect(text_of(model), MessageId::model)) {}

Leftovers Leftovers::for_inference() const {
  constexpr std::uint32_t opset_import = 8;
  constexpr std::uint32_t metadata_props = 14;
  constexpr std::uint32_t training_info = 20;
  Leftovers out = *this;
  std::erase_if(out.root_.parts, [&](const auto& part) {
    const std::uint32_t number = part.first.first;
    return number == opset_import || number == metadata_props || number == training_info;
  });
  return out;
}

std::vector<std::byte> Leftovers::put_back(std::vector<std::byte> model) const {
  if (root_.empty()) return model;
  const std::string merged = merge(text_of(model), MessageId::model, root_);
  const auto bytes = std::as_bytes(std::span(merged));
  return {bytes.begin(), bytes.end()};
}

}  // namespace ondine
