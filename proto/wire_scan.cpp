#include "proto/wire_scan.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/message.h"
#include "core/text/utf8.h"

namespace ondine {
namespace {

// Estimates of protobuf's heap allocations.
constexpr std::uint64_t pointer_cost = 2 * sizeof(void*);  // a repeated field grows by doubling
constexpr std::uint64_t string_cost = sizeof(std::string) + 16;
constexpr std::uint64_t block_cost = 16;

std::uint64_t text_cost(std::uint64_t length) {
  return string_cost + (length > 15 ? length + block_cost : 0);
}

class Scanner {
 public:
  Scanner(std::span<const std::byte> bytes, MessageId root, const Limits& limits)
      : bytes_(bytes), root_(root), limits_(limits) {
    open_.push_back({bytes.size(), &wire_message(root)});
    charge(wire_message(root).size);
  }

  std::uint64_t run() {
    while (!open_.empty()) {
      if (at_ == open_.back().end) {
        open_.pop_back();
      } else {
        field();
      }
    }
    return cost_;
  }

 private:
  struct Open {
    std::size_t end;
    const WireMessage* message;
  };

  template <class... Parts>
  [[noreturn]] void reject(const Parts&... parts) const {
    const std::string what = root_ == MessageId::model ? "an ONNX model"
                             : root_ == MessageId::operator_set
                                 ? "an ONNX operator set"
                                 : cat("a ", wire_message(root_).name);
    fail(ErrorCode::invalid_model, "not ", what, ": ", parts..., " at byte ", at_);
  }

  void charge(std::uint64_t bytes) {
    cost_ += bytes;
    if (cost_ > limits_.parse_bytes) {
      fail(ErrorCode::limit, "decoding would take more than ", limits_.parse_bytes, " bytes");
    }
    if (cost_ > most_for_input_) {
      fail(ErrorCode::limit, "decoding would take more than ", most_for_input_, " bytes for ",
           bytes_.size(), " bytes of input: its messages are nearly empty");
    }
  }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (at_ == open_.back().end) reject("the data ends within a number");
      const auto byte = static_cast<std::uint64_t>(bytes_[at_++]);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    reject("a number is longer than ten bytes");
  }

  std::size_t left() const { return open_.back().end - at_; }

  void skip(std::uint64_t count, const WireField* field) {
    if (count > left()) {
      reject(describe(field), " has ", count, " bytes where ", left(), " are left");
    }
    at_ += static_cast<std::size_t>(count);
  }

  std::string describe(const WireField* field) const {
    const char* message = open_.back().message->name;
    return field != nullptr ? cat(message, ".", field->name) : cat("a field of ", message);
  }

  void field() {
    const std::uint64_t tag = varint();
    const std::uint64_t number = tag >> 3;
    if (number == 0 || tag > 0xffffffffU) reject("an impossible field number ", number);
    const WireField* field = open_.back().message->find(static_cast<std::uint32_t>(number));
    switch (tag & 7U) {
      case 0:
        return number_field(field);
      case 1:
        return fixed(field, WireKind::fixed64, 8);
      case 2:
        return block(field);
      case 3:
      case 4:
        reject("a group");
      case 5:
        return fixed(field, WireKind::fixed32, 4);
      default:
        reject("an impossible wire type");
    }
  }

  void number_field(const WireField* field) {
    const std::uint64_t value = varint();
    if (field == nullptr) return unknown(10);
    if (field->kind == WireKind::enumeration) {
      if (value >= field->bound) reject(describe(field), " has the unknown value ", value);
    } else if (field->kind != WireKind::integer) {
      reject(describe(field), " is a number");
    }
    if (field->repeated) charge(std::uint64_t{2} * field->width);
  }

  void fixed(const WireField* field, WireKind kind, std::uint64_t size) {
    if (field != nullptr && field->kind != kind) reject(describe(field), " has another type");
    skip(size, field);
    if (field == nullptr) return unknown(size + 5);
    if (field->repeated) charge(2 * size);
  }

  // Unknown fields: protobuf keeps their bytes in a string of the message.
  void unknown(std::uint64_t size) { charge(2 * (size + block_cost) + string_cost); }

  void block(const WireField* field) {
    const std::uint64_t length = varint();
    const std::size_t start = at_;
    skip(length, field);
    if (field == nullptr) return unknown(length + 10);
    const std::string_view text(reinterpret_cast<const char*>(bytes_.data()) + start,
                                static_cast<std::size_t>(length));
    switch (field->kind) {
      case WireKind::message:
        at_ = start;
        return enter(*field, static_cast<std::size_t>(length));
      case WireKind::name:
        if (length > limits_.name_length) {
          fail(ErrorCode::limit, describe(field), " has ", length, " bytes, more than ",
               limits_.name_length);
        }
        [[fallthrough]];
      case WireKind::text:
        if (!is_utf8(text)) reject(describe(field), " is not UTF-8 text,");
        [[fallthrough]];
      case WireKind::bytes:
        return charge(text_cost(length) + (field->repeated ? pointer_cost : 0));
      case WireKind::integer:
      case WireKind::fixed32:
      case WireKind::fixed64:
        return packed(*field, text);
      case WireKind::enumeration:
        reject(describe(field), " has another type");
    }
  }

  void packed(const WireField& field, std::string_view data) {
    if (!field.repeated) reject(describe(&field), " has another type");
    if (field.kind != WireKind::integer) {
      if (data.size() % field.width != 0) reject(describe(&field), " ends within a number");
      return charge(data.size());
    }
    const auto ends = std::count_if(data.begin(), data.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0x80) == 0;
    });
    charge(std::uint64_t{2} * field.width * static_cast<std::uint64_t>(ends));
  }

  void enter(const WireField& field, std::size_t length) {
    const int depth = static_cast<int>(open_.size());
    const int deepest = std::min(limits_.message_depth, deepest_message);
    if (depth > deepest) fail(ErrorCode::limit, "messages are nested deeper than ", deepest);
    const WireMessage& message = wire_message(field.message);
    charge(message.size + block_cost + (field.repeated ? pointer_cost : 0));
    open_.push_back({at_ + length, &message});
  }

  std::span<const std::byte> bytes_;
  MessageId root_;
  const std::uint64_t most_for_input_ = parse_bytes_of(bytes_.size());
  const Limits& limits_;
  std::size_t at_ = 0;
  std::uint64_t cost_ = 0;
  std::vector<Open> open_;
};

}  // namespace

std::uint64_t scan_wire(std::span<const std::byte> bytes, MessageId root, const Limits& limits) {
  return Scanner(bytes, root, limits).run();
}

}  // namespace ondine
