#include "trainer/data/text/next_columns.h"

#include <algorithm>

#include "core/message.h"
#include "trainer/data/text/beside_ids.h"
#include "trainer/data/text/id_column.h"

namespace ondine::data {
namespace {

struct Shared {
  MarkedRows rows;
  RowLength length;
};

class NextColumn final : public IdColumn {
 public:
  NextColumn(std::string name, std::shared_ptr<const Shared> shared, std::int64_t padding,
             std::size_t shift)
      : IdColumn(std::move(name)), shared_(std::move(shared)), padding_(padding), shift_(shift) {}

  std::uint64_t rows() const override { return shared_->rows.ids.size(); }

  std::optional<Dims> fit(const PortInfo& input) const override {
    if (!takes_ids(input)) return {};
    if (!input.dims || input.dims->back() < 0) return Dims{length()};
    // Rows that are cut off are counted where they are read.
    if (input.dims->back() < length()) return {};
    return Dims{input.dims->back()};
  }
  std::string hint(const PortInfo& input) const override {
    if (!takes_ids(input)) return {};
    return cat("; the rows have ", length(), " ids: --text-length ", input.dims->back());
  }
  void copy(std::span<const std::uint64_t> rows, const RowType& type,
            std::byte* to) const override {
    IdColumn::copy(rows, type, to);
    if (shift_ == 0) return;
    if (type.dtype == DType::int32) return ignore(rows, type, reinterpret_cast<std::int32_t*>(to));
    ignore(rows, type, reinterpret_cast<std::int64_t*>(to));
  }
  void check_batch(std::uint64_t rows, const RowType& type) const override {
    shared_->length.check_batch(rows, type);
  }
  std::string note() const override { return shift_ == 0 ? shared_->length.note() : std::string(); }
  bool is_label() const override { return shift_ != 0; }

 protected:
  std::int64_t length() const override { return shared_->length.get(); }
  StoredIds ids(std::uint64_t row) const override {
    return std::visit([&](auto all) -> StoredIds { return all.subspan(shift_, all.size() - 1); },
                      shared_->rows.ids[row]);
  }
  RowEnd end() const override { return {padding_, {}}; }

 private:
  template <class Id>
  void ignore(std::span<const std::uint64_t> rows, const RowType& type, Id* to) const {
    const auto length = static_cast<std::size_t>(type.dims[0]);
    const std::vector<bool>& counts = shared_->rows.counts;
    for (const std::uint64_t row : rows) {
      const std::uint64_t first = shared_->rows.ids.first(row) + shift_;
      const std::size_t labels = std::min(size_of(ids(row)), length);
      for (std::size_t i = 0; i < labels; ++i) {
        if (!counts[first + i]) to[i] = static_cast<Id>(padding_);
      }
      to += length;
    }
  }

  std::shared_ptr<const Shared> shared_;
  std::int64_t padding_;
  std::size_t shift_;  // 1: the labels
};

// The number of each id's text in its row. Padding has that of the last text: attention there is as
// in a row that ends with it.
class SegmentColumn final : public Column {
 public:
  explicit SegmentColumn(std::shared_ptr<const Shared> shared)
      : Column(segment_ids), shared_(std::move(shared)) {}

  std::uint64_t rows() const override { return shared_->rows.ids.size(); }
  PortInfo port() const override {
    PortInfo port;
    port.name = name();
    port.dtype = DType::int64;
    port.type = describe();
    port.dims = {-1, shared_->length.get()};
    return port;
  }
  std::string describe() const override {
    return cat("segments[", rows(), ", ", shared_->length.get(), "]");
  }
  std::optional<Dims> fit(const PortInfo& input) const override {
    if (input.name != name() || !takes_ids(input)) return {};
    const bool is_open = !input.dims || input.dims->back() < 0;
    return Dims{is_open ? shared_->length.get() : input.dims->back()};
  }
  void copy(std::span<const std::uint64_t> rows, const RowType& type,
            std::byte* to) const override {
    if (type.dtype == DType::int32) return write(rows, type, reinterpret_cast<std::int32_t*>(to));
    write(rows, type, reinterpret_cast<std::int64_t*>(to));
  }
  bool is_label() const override { return true; }  // no input of another name takes it
  std::optional<std::vector<std::int64_t>> labels() const override { return {}; }

 private:
  template <class Id>
  void write(std::span<const std::uint64_t> rows, const RowType& type, Id* to) const {
    const auto length = static_cast<std::size_t>(type.dims[0]);
    for (const std::uint64_t row : rows) {
      Id* const end = to + length;
      const std::vector<std::uint64_t>& texts = shared_->rows.texts[row];
      for (std::size_t segment = 0; segment + 1 < texts.size(); ++segment) {
        const auto room = static_cast<std::uint64_t>(end - to);
        to = std::fill_n(to, std::min(texts[segment], room), static_cast<Id>(segment));
      }
      std::fill(to, end, static_cast<Id>(texts.size() - 1));
      to = end;
    }
  }

  std::shared_ptr<const Shared> shared_;
};

}  // namespace

void MarkedRows::add(std::span<const std::int64_t> row, const std::vector<bool>& marks) {
  ids.add(row);
  counts.insert(counts.end(), marks.begin(), marks.end());
}

NextColumns next_columns(MarkedRows rows, std::int64_t length, std::int64_t ignored_label) {
  const RowLength of_row(length, rows.ids.size(),
                         [&](std::uint64_t row) { return size_of(rows.ids[row]) - 1; });
  const std::int64_t padding = rows.ids.encoding().padding_id();
  const auto shared = std::make_shared<const Shared>(Shared{std::move(rows), of_row});
  NextColumns columns{std::make_shared<NextColumn>("text", shared, padding, 0),
                      std::make_shared<NextColumn>("label", shared, ignored_label, 1), nullptr};
  if (!shared->rows.texts.empty()) columns.segments = std::make_shared<SegmentColumn>(shared);
  return columns;
}

}  // namespace ondine::data
