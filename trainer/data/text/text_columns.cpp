#include "trainer/data/text/text_columns.h"

#include <algorithm>

#include "core/message.h"

namespace ondine::data {
namespace {

bool takes_ids(const PortInfo& input) {
  const bool has_type = input.dtype == DType::int64 || input.dtype == DType::int32;
  return has_type && (!input.dims || input.dims->size() == 2);
}

// What fills a row beside the ids of its text.
struct RowEnd {
  std::int64_t padding = TextEncoding::padding;  // of short rows
  std::span<const std::int64_t> ending = {};     // of those that are cut off
};

// The first ids, as many as a row of the type has; the rest of the row is padding.
void write_ids(const StoredIds& ids, const RowEnd& end, const RowType& type, std::byte* to) {
  const auto length = static_cast<std::size_t>(type.dims[0]);
  const auto write = [&]<class Id>(Id* row) {
    const auto as_id = [](auto id) { return static_cast<Id>(id); };
    std::fill_n(row, length, as_id(end.padding));
    std::visit(
        [&](auto from) {
          from = from.first(std::min(from.size(), length));
          std::transform(from.begin(), from.end(), row, as_id);
        },
        ids);
    const auto ending = end.ending.last(std::min(end.ending.size(), length));
    if (size_of(ids) <= length) return;
    std::transform(ending.begin(), ending.end(), row + (length - ending.size()), as_id);
  };
  if (type.dtype == DType::int32) return write(reinterpret_cast<std::int32_t*>(to));
  write(reinterpret_cast<std::int64_t*>(to));
}

class IdColumn : public Column {
 public:
  using Column::Column;

  PortInfo port() const override {
    PortInfo port;
    port.name = name();
    port.dtype = DType::int64;
    port.type = describe();
    port.dims = {-1, length()};
    return port;
  }
  std::string describe() const override { return cat("texts[", rows(), ", ", length(), "]"); }

  void copy(std::span<const std::uint64_t> rows, const RowType& type,
            std::byte* to) const override {
    for (const std::uint64_t row : rows) {
      write_ids(ids(row), end(), type, to);
      to += type.bytes();
    }
  }

  std::optional<std::vector<std::int64_t>> labels() const override { return {}; }

 protected:
  virtual std::int64_t length() const = 0;
  virtual StoredIds ids(std::uint64_t row) const = 0;
  virtual RowEnd end() const { return {}; }
};

// The longest of some texts.
struct Longest {
  std::uint64_t row = 0;
  std::uint64_t ids = 1;
  std::uint64_t ids_of_all = 0;
};

Longest longest_of(const TextRows& texts) {
  Longest longest;
  for (std::uint64_t row = 0; row < texts.size(); ++row) {
    const std::uint64_t ids = size_of(texts[row]);
    longest.ids_of_all += ids;
    if (ids > longest.ids) longest.row = row, longest.ids = ids;
  }
  return longest;
}

class TextColumn final : public IdColumn {
 public:
  TextColumn(std::string name, TextRows texts, std::int64_t length)
      : IdColumn(std::move(name)), texts_(std::move(texts)), length_(length) {
    if (length > 0) return;
    longest_ = longest_of(texts_);
    length_ = static_cast<std::int64_t>(longest_->ids);
  }

  std::uint64_t rows() const override { return texts_.size(); }

  std::optional<Dims> fit(const PortInfo& input) const override {
    if (!takes_ids(input)) return {};
    if (!input.dims || input.dims->back() < 0) return Dims{length_};
    return Dims{input.dims->back()};
  }

  void check_batch(std::uint64_t rows, const RowType& type) const override {
    constexpr std::uint64_t usual = std::uint64_t{512} << 20;
    constexpr std::uint64_t most_padding = 64;
    if (!longest_ || type.dims[0] != length_) return;
    const std::uint64_t bytes = type.bytes();
    const std::uint64_t stored = size_of(type.dtype) * longest_->ids_of_all;
    if (rows == 0 || bytes <= std::max(usual, most_padding * stored) / rows) return;
    fail(ErrorCode::limit, "a batch of ", rows, " rows takes ", rows * bytes, " bytes, as ",
         padding_note(), "; all texts together have ", longest_->ids_of_all, " ids");
  }

  std::string note() const override {
    if (!longest_ || longest_->ids < 256) return {};
    // A tenth of what the model reads.
    if (longest_->ids_of_all >= longest_->ids * texts_.size() / 10) return {};
    return padding_note();
  }

 protected:
  std::int64_t length() const override { return length_; }
  StoredIds ids(std::uint64_t row) const override { return texts_[row]; }
  RowEnd end() const override {
    return {texts_.encoding().padding_id(), texts_.encoding().ending()};
  }

 private:
  std::string padding_note() const {
    return cat("each text is padded to the ", longest_->ids, " ids of row ", longest_->row,
               ", the longest one; --text-length N (TextOptions::length) cuts texts off after N "
               "ids");
  }

  TextRows texts_;
  std::int64_t length_;
  std::optional<Longest> longest_;  // where it decides the length
};

class WindowColumn final : public IdColumn {
 public:
  WindowColumn(std::string name, std::vector<RunningText> texts, std::int64_t length,
               std::size_t shift)
      : IdColumn(std::move(name)), texts_(std::move(texts)), length_(length), shift_(shift) {
    for (const RunningText& text : texts_) {
      ends_.push_back((ends_.empty() ? 0 : ends_.back()) + text.windows(length));
    }
  }

  std::uint64_t rows() const override { return ends_.empty() ? 0 : ends_.back(); }

  std::optional<Dims> fit(const PortInfo& input) const override {
    if (!takes_ids(input)) return {};
    if (input.dims && input.dims->back() >= 0 && input.dims->back() != length_) return {};
    return Dims{length_};
  }
  std::string hint(const PortInfo& input) const override {
    if (!takes_ids(input)) return {};
    return cat("; the windows have ", length_, " ids: --text-length ", input.dims->back());
  }
  bool is_label() const override { return shift_ != 0; }

 protected:
  std::int64_t length() const override { return length_; }
  StoredIds ids(std::uint64_t row) const override {
    const auto text =
        static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), row) - ends_.begin());
    const std::uint64_t in_text = text == 0 ? row : row - ends_[text - 1];
    const auto length = static_cast<std::size_t>(length_);
    return std::visit(
        [&](auto all) -> StoredIds { return all.subspan(in_text * length + shift_, length); },
        texts_[text].ids);
  }

 private:
  std::vector<RunningText> texts_;
  std::vector<std::uint64_t> ends_;  // number of windows up to the end of each text
  std::int64_t length_;
  std::size_t shift_;
};

}  // namespace

void TextRows::add(std::string_view text) {
  if (encoding_ == TextEncoding()) {
    bytes_.insert(bytes_.end(), text.begin(), text.end());
  } else {
    for (const std::int64_t id : encoding_.encode(text)) {
      pieces_.push_back(static_cast<std::int32_t>(id));
    }
  }
  ends_.push_back(bytes_.size() + pieces_.size());  // one of them is empty
}

StoredIds TextRows::operator[](std::uint64_t row) const {
  const std::uint64_t first = row == 0 ? 0 : ends_[row - 1];
  const std::uint64_t count = ends_[row] - first;
  if (encoding_ == TextEncoding()) return std::span(bytes_).subspan(first, count);
  return std::span(pieces_).subspan(first, count);
}

std::uint64_t RunningText::windows(std::int64_t length) const {
  const std::size_t size = size_of(ids);
  return size == 0 ? 0 : (size - 1) / static_cast<std::uint64_t>(length);
}

std::shared_ptr<const Column> text_column(std::string name, TextRows texts, std::int64_t length) {
  return std::make_shared<TextColumn>(std::move(name), std::move(texts), length);
}

std::shared_ptr<const Column> window_column(std::string name, std::vector<RunningText> texts,
                                            std::int64_t length, std::size_t shift) {
  return std::make_shared<WindowColumn>(std::move(name), std::move(texts), length, shift);
}

}  // namespace ondine::data
