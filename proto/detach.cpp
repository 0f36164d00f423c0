#include "proto/detach.h"

#include <array>
#include <cstring>

#include "proto/wire_reader.h"
#include "proto/wire_schema.h"

namespace ondine {
namespace {

// Below this length a reference saves nothing.
constexpr std::size_t least_length = std::size_t{4} << 10;

struct Reference {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

// Everything of the length of a reference is detached too, so that this length tells one.
bool is_detached(std::size_t length) {
  return length >= least_length || length == sizeof(Reference);
}

struct Detachable {
  std::size_t bytes = 0;
  std::size_t blocks = 0;
};

bool is_raw_data(const WireEntry& field, MessageId id) {
  return id == MessageId::tensor && field.number == raw_data_field;
}

void count(std::string_view bytes, MessageId id, Detachable& total) {
  const WireMessage& schema = wire_message(id);
  for (WireReader reader(bytes); !reader.at_end();) {
    const WireEntry field = reader.next();
    const WireField* known = schema.find(field.number);
    if (known != nullptr && known->kind == WireKind::message) {
      count(field.content, known->message, total);
    } else if (is_raw_data(field, id) && is_detached(field.content.size())) {
      total.bytes += field.content.size();
      ++total.blocks;
    }
  }
}

// Copies a model. The lengths of messages keep the number of bytes that they take, with padding:
// all but the last byte of a number has its highest bit set.
class Writer {
 public:
  Writer(std::string_view model, std::vector<std::byte>& out) : model_(model), out_(&out) {}

  void message(std::string_view bytes, MessageId id) {
    const WireMessage& schema = wire_message(id);
    for (WireReader reader(bytes); !reader.at_end();) {
      const WireEntry field = reader.next();
      const WireField* known = schema.find(field.number);
      if (known != nullptr && known->kind == WireKind::message) {
        const std::size_t end = head(field);
        message(field.content, known->message);
        set_length(end, field);
      } else if (is_raw_data(field, id) && is_detached(field.content.size())) {
        const std::size_t end = head(field);
        const Reference reference{static_cast<std::uint64_t>(field.content.data() - model_.data()),
                                  field.content.size()};
        std::array<char, sizeof reference> text{};
        std::memcpy(text.data(), &reference, sizeof reference);
        append({text.data(), text.size()});
        set_length(end, field);
      } else {
        append(field.as_it_is);
      }
    }
  }

 private:
  void append(std::string_view bytes) {
    const auto source = std::as_bytes(std::span(bytes));
    out_->insert(out_->end(), source.begin(), source.end());
  }

  // Writes tag and length of a block; returns where its content begins.
  std::size_t head(const WireEntry& field) {
    append(field.as_it_is.substr(0, field.as_it_is.size() - field.content.size()));
    return out_->size();
  }

  // Sets the length of the block whose content begins at `start` and ends here.
  void set_length(std::size_t start, const WireEntry& field) {
    std::uint64_t length = out_->size() - start;
    std::size_t tag = 1;
    while ((static_cast<unsigned char>(field.as_it_is[tag - 1]) & 0x80U) != 0) ++tag;
    const std::size_t head = field.as_it_is.size() - field.content.size();
    for (std::size_t i = start - (head - tag); i < start; ++i, length >>= 7) {
      const std::uint64_t more = i + 1 < start ? 0x80U : 0U;
      (*out_)[i] = static_cast<std::byte>((length & 0x7fU) | more);
    }
  }

  std::string_view model_;
  std::vector<std::byte>* out_;
};

}  // namespace

std::optional<DetachedModel> DetachedModel::make(std::span<const std::byte> model) {
  if (model.size() < least_length) return std::nullopt;
  Detachable total;
  count(text_of(model), MessageId::model, total);
  if (total.bytes < model.size() / 2) return std::nullopt;
  DetachedModel result;
  result.model_ = model;
  result.rest_.reserve(model.size() - total.bytes + total.blocks * sizeof(Reference));
  Writer(text_of(model), result.rest_).message(text_of(model), MessageId::model);
  return result;
}

std::optional<std::span<const std::byte>> DetachedModel::find(
    std::string_view raw_data) const noexcept {
  if (raw_data.size() != sizeof(Reference)) return std::nullopt;
  Reference reference;
  std::memcpy(&reference, raw_data.data(), sizeof reference);
  return model_.subspan(static_cast<std::size_t>(reference.offset),
                        static_cast<std::size_t>(reference.length));
}

}  // namespace ondine
