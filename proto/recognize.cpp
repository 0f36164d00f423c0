#include "proto/recognize.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "proto/wire_schema.h"

namespace ondine {
namespace {

struct Signature {
  std::size_t at;
  std::string_view bytes;
  const char* name;
};

constexpr std::array signatures{
    Signature{0, "\x89HDF\r\n\x1a\n", "an HDF5 file"},
    Signature{0, "\x93NUMPY", "a NumPy array"},
    Signature{4, "TFL3", "a TensorFlow Lite model"},
    Signature{4, "ORTM", "a model in the format of ONNX Runtime"},
    Signature{8, "{\"", "a safetensors file"},
    Signature{0, "\x1f\x8b", "a gzip archive"},
    Signature{0, "\x80\x02", "a Python pickle, as older PyTorch writes"},
    Signature{0, "%PDF", "a PDF document"},
    Signature{0, "version https://git-lfs.github.com/spec/",
              "a Git LFS pointer, which stands for a file that \"git lfs pull\" fetches"},
};

// The names of its files are in the directory at the end.
const char* kind_of_zip(std::string_view bytes) noexcept {
  constexpr std::size_t directory = std::size_t{1} << 18;
  const std::string_view tail = bytes.substr(bytes.size() - std::min(bytes.size(), directory));
  const auto has = [&](std::string_view name) { return tail.find(name) != bytes.npos; };
  if (has("/constants.pkl")) return "a TorchScript archive; torch.onnx.export writes ONNX";
  if (has("/data.pkl")) return "a PyTorch checkpoint; torch.onnx.export writes ONNX";
  if (has("model.weights.h5")) return "a Keras archive";
  if (has(".npy")) return "a NumPy archive (.npz)";
  return "a zip archive, as PyTorch and Keras write";
}

// The first character that is no blank, after a byte order mark.
std::string_view after_blanks(std::string_view text) noexcept {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  return text.substr(std::min(text.size(), text.find_first_not_of(" \t\r\n")));
}

bool starts_with_tag(std::string_view text, std::string_view tag) noexcept {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return text.size() >= tag.size() &&
         std::equal(tag.begin(), tag.end(), text.begin(),
                    [&](char wanted, char found) { return wanted == lower(found); });
}

// "a text", or of what kind.
const char* kind_of_text(std::string_view bytes) noexcept {
  const std::string_view text = after_blanks(bytes);
  for (const std::string_view tag : {"<!doctype html", "<html", "<head"}) {
    if (starts_with_tag(text, tag)) return "an HTML page, as servers send instead of a file";
  }
  if (text.starts_with("<")) {
    const bool is_onnx = text.substr(0, 256).find("ir_version") != text.npos;
    return is_onnx ? "the text form of an ONNX model" : "an XML text";
  }
  if (text.starts_with("{") || text.starts_with("[")) return "a JSON text";
  return "a text";
}

bool is_text(std::string_view bytes) noexcept {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\r' || c == '\t';
  });
}

// The field numbers and wire types of a message, each pair once, without what is inside.
class Fields {
 public:
  explicit Fields(std::string_view bytes) noexcept : bytes_(bytes) {
    while (valid_ && at_ < bytes_.size()) field();
  }

  bool valid() const noexcept { return valid_ && count_ > 0; }
  // The contents of field 1 when it is text, even where what follows is damaged.
  std::string_view first_text() const noexcept { return first_text_; }
  bool has(std::uint64_t number) const noexcept {
    return std::any_of(found_.begin(), found_.begin() + count_,
                       [&](const Found& one) { return one.number == number; });
  }
  // Whether the message has all of these fields, and each of them as it is written here.
  bool are_of(const WireMessage& message) const noexcept {
    return std::all_of(found_.begin(), found_.begin() + count_, [&](const Found& one) {
      const WireField* field = message.find(static_cast<std::uint32_t>(one.number));
      return field != nullptr && fits(*field, one.wire_type);
    });
  }

 private:
  struct Found {
    std::uint64_t number;
    unsigned wire_type;
  };

  static bool fits(const WireField& field, unsigned wire_type) noexcept {
    switch (field.kind) {
      case WireKind::integer:
      case WireKind::enumeration:
        return wire_type == 0 || (wire_type == 2 && field.repeated);
      case WireKind::fixed32:
        return wire_type == 5 || (wire_type == 2 && field.repeated);
      case WireKind::fixed64:
        return wire_type == 1 || (wire_type == 2 && field.repeated);
      default:
        return wire_type == 2;
    }
  }

  std::uint64_t varint() noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && at_ < bytes_.size(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
    valid_ = false;
    return 0;
  }

  void skip(std::uint64_t count) noexcept {
    if (count > bytes_.size() - at_) {
      valid_ = false;
    } else {
      at_ += static_cast<std::size_t>(count);
    }
  }

  void field() noexcept {
    const std::uint64_t tag = varint();
    const auto wire_type = static_cast<unsigned>(tag & 7U);
    if (wire_type == 0) {
      varint();
    } else if (wire_type == 1 || wire_type == 5) {
      skip(wire_type == 1 ? 8 : 4);
    } else if (wire_type == 2) {
      const std::uint64_t length = varint();
      const std::size_t start = at_;
      skip(length);
      if (tag == 0xa && valid_) first_text_ = bytes_.substr(start, at_ - start);
    } else {
      valid_ = false;
    }
    if (tag >> 3 == 0) valid_ = false;
    if (valid_) note({tag >> 3, wire_type});
  }

  void note(Found one) noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
      if (found_[i].number == one.number && found_[i].wire_type == one.wire_type) return;
    }
    if (count_ == found_.size()) {
      valid_ = false;
    } else {
      found_[count_++] = one;
    }
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  bool valid_ = true;
  std::string_view first_text_;
  std::array<Found, 64> found_{};  // more than any message of the format has
  std::size_t count_ = 0;
};

struct Candidate {
  MessageId id;
  const char* name;
  std::array<std::uint64_t, 2> needed;  // fields that such a message always has
};

// A TensorProto may have the same fields, but not both of these.
constexpr Candidate operator_set{MessageId::operator_set, "an OperatorSetProto", {4, 5}};
constexpr Candidate model{MessageId::model, "an ONNX model", {1, 7}};

constexpr std::array candidates{
    Candidate{MessageId::tensor, "a TensorProto", {2, 2}},
    Candidate{MessageId::sparse_tensor, "a SparseTensorProto", {1, 2}},
    Candidate{MessageId::graph, "a GraphProto", {2, 12}},
    Candidate{MessageId::function, "a FunctionProto", {1, 9}},
    Candidate{MessageId::node, "a NodeProto", {2, 4}},
    Candidate{MessageId::map, "a MapProto", {2, 2}},
};

bool are_of(const Fields& fields, const Candidate& one) noexcept {
  return fields.has(one.needed[0]) && fields.has(one.needed[1]) &&
         fields.are_of(wire_message(one.id));
}

bool is_operator_set(const Fields& fields) noexcept {
  return fields.first_text() == operator_set_magic ||
         (fields.valid() && are_of(fields, operator_set));
}

Fields fields_of(std::span<const std::byte> bytes) noexcept {
  return Fields({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

bool is_operator_set(std::span<const std::byte> bytes) noexcept {
  return is_operator_set(fields_of(bytes));
}

bool is_model(std::span<const std::byte> bytes) noexcept {
  const Fields fields = fields_of(bytes);
  return fields.valid() && are_of(fields, model);
}

const char* other_format(std::span<const std::byte> bytes) noexcept {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const Signature& one : signatures) {
    if (text.size() > one.at && text.substr(one.at).starts_with(one.bytes)) return one.name;
  }
  if (text.starts_with("PK\x03\x04")) return kind_of_zip(text);
  if (is_text(after_blanks(text).substr(0, 256))) return kind_of_text(text);
  const Fields fields(text);
  if (is_operator_set(fields)) return operator_set.name;
  if (!fields.valid()) return nullptr;
  for (const Candidate& one : candidates) {
    if (are_of(fields, one)) return one.name;
  }
  return nullptr;
}

}  // namespace ondine
