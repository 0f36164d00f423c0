#include "trainer/data/text/text_columns.h"

#include <algorithm>

#include "core/message.h"
#include "trainer/data/text/id_column.h"

namespace ondine::data {
namespace {

class TextColumn final : public IdColumn {
 public:
  TextColumn(std::string name, TextRows texts, std::int64_t length)
      : IdColumn(std::move(name)),
        texts_(std::move(texts)),
        length_(length, texts_.size(), [&](std::uint64_t row) { return size_of(texts_[row]); }) {}

  std::uint64_t rows() const override { return texts_.size(); }

  std::optional<Dims> fit(const PortInfo& input) const override {
    if (!takes_ids(input)) return {};
    if (!input.dims || input.dims->back() < 0) return Dims{length()};
    return Dims{input.dims->back()};
  }
  void check_batch(std::uint64_t rows, const RowType& type) const override {
    length_.check_batch(rows, type);
  }
  std::string note() const override { return length_.note(); }

 protected:
  std::int64_t length() const override { return length_.get(); }
  StoredIds ids(std::uint64_t row) const override { return texts_[row]; }
  RowEnd end() const override {
    return {texts_.encoding().padding_id(), texts_.encoding().ending()};
  }

 private:
  TextRows texts_;
  RowLength length_;
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
    ends_.push_back(bytes_.size());
  } else {
    add(encoding_.encode(text));
  }
}

void TextRows::add(std::span<const std::int64_t> ids) {
  const auto append = [&]<class Id>(std::vector<Id>& to) {
    for (const std::int64_t id : ids) to.push_back(static_cast<Id>(id));
    ends_.push_back(to.size());
  };
  if (encoding_ == TextEncoding()) return append(bytes_);
  append(pieces_);
}

StoredIds TextRows::operator[](std::uint64_t row) const {
  const std::uint64_t first = this->first(row);
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
