#include "trainer/data/rows_column.h"

#include <algorithm>
#include <mutex>
#include <numeric>

#include "core/checked.h"
#include "core/message.h"

namespace ondine {

Tensor Row::operator[](std::string_view column) const {
  std::string names;
  for (const auto& [name, value] : entries_) {
    if (name == column) return value.tensor();
    names += " " + quoted(name);
  }
  fail(ErrorCode::not_found, "there is no column ", quoted(column), "; columns are", names);
}

}  // namespace ondine

namespace ondine::data {
namespace {

Shape batch_shape(const RowColumn& column, std::size_t rows) {
  Shape shape;
  shape.push_back(static_cast<std::int64_t>(rows));
  for (const std::int64_t dim : column.dims) shape.push_back(dim);
  return shape;
}

void require_valid(const std::vector<RowColumn>& columns) {
  if (columns.empty()) fail(ErrorCode::mismatch, "rows need at least one column");
  for (const RowColumn& one : columns) {
    if (one.name.empty()) fail(ErrorCode::mismatch, "a column of rows has no name");
    if (one.dtype == DType::undefined || one.dtype == DType::string) {
      fail(ErrorCode::mismatch, "column ", quoted(one.name), " needs an element type of numbers");
    }
    static_cast<void>(batch_shape(one, 1).size());
    const auto same = std::ranges::count(columns, one.name, &RowColumn::name);
    if (same > 1) fail(ErrorCode::mismatch, "column ", quoted(one.name), " is there twice");
  }
}

// Reads rows for all columns, one batch at a time, and keeps the last one.
class Reader {
 public:
  Reader(std::vector<RowColumn> columns, std::uint64_t rows, ondine::RowReader read)
      : columns_(std::move(columns)), rows_(rows), read_(std::move(read)) {
    require_valid(columns_);
    if (!read_) fail(ErrorCode::mismatch, "there is no function that reads rows");
    count_in_memory(rows, sizeof(rows), "an order of rows");
  }

  const std::vector<RowColumn>& columns() const noexcept { return columns_; }
  std::uint64_t rows() const noexcept { return rows_; }

  // Entries of a column for these rows, one after the other.
  Tensor take(std::span<const std::uint64_t> rows, std::size_t column) const {
    const std::lock_guard lock(mutex_);
    if (kept_.empty() || !std::ranges::equal(rows, kept_rows_)) read(rows);
    return kept_[column];
  }

 private:
  void read(std::span<const std::uint64_t> rows) const {
    kept_.clear();
    std::vector<Tensor> made;
    for (const RowColumn& one : columns_)
      made.emplace_back(one.dtype, batch_shape(one, rows.size()));
    for (std::size_t i = 0; i < rows.size(); ++i) read_row(rows[i], i, made);
    kept_rows_.assign(rows.begin(), rows.end());
    kept_ = std::move(made);
  }

  void read_row(std::uint64_t row, std::size_t position, std::vector<Tensor>& batch) const {
    NamedValues entries;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const Shape shape{std::span<const std::int64_t>(columns_[c].dims)};
      const std::size_t bytes = static_cast<std::size_t>(shape.size()) * size_of(columns_[c].dtype);
      auto* const whole = static_cast<std::byte*>(batch[c].mutable_data());
      void* const entry = whole + position * bytes;
      entries.emplace_back(columns_[c].name, Tensor::wrap(columns_[c].dtype, shape, entry));
    }
    with_context([&] { read_(row, Row(entries)); },
                 [&] { return cat("row ", row, " of the data"); });
  }

  std::vector<RowColumn> columns_;
  std::uint64_t rows_;
  ondine::RowReader read_;
  mutable std::mutex mutex_;
  mutable std::vector<std::uint64_t> kept_rows_;
  mutable std::vector<Tensor> kept_;
};

// Fits and converts as an array of its rows does.
class RowsColumn final : public Column {
 public:
  RowsColumn(std::shared_ptr<const Reader> reader, std::size_t column, Layout layout)
      : Column(reader->columns()[column].name),
        reader_(std::move(reader)),
        column_(column),
        layout_(layout),
        like_(array(Tensor(info().dtype, batch_shape(info(), 0)))) {}

  std::uint64_t rows() const override { return reader_->rows(); }
  PortInfo port() const override {
    PortInfo port = like_->port();
    port.type = describe();
    return port;
  }
  std::string describe() const override {
    return cat(info().dtype, batch_shape(info(), static_cast<std::size_t>(rows())));
  }
  std::optional<Dims> fit(const PortInfo& input) const override { return like_->fit(input); }
  std::string hint(const PortInfo& input) const override { return like_->hint(input); }
  bool has_large_bytes() const override {
    return info().dtype == DType::uint8 && info().dims.size() >= 2;
  }
  void copy(std::span<const std::uint64_t> rows, const RowType& type,
            std::byte* to) const override {
    std::vector<std::uint64_t> positions(rows.size());
    std::iota(positions.begin(), positions.end(), std::uint64_t{0});
    array(reader_->take(rows, column_))->copy(positions, type, to);
  }
  bool is_label() const override { return like_->is_label(); }
  std::optional<double> white(const RowType& type) const override { return like_->white(type); }
  // It would take reading every row.
  std::optional<std::vector<std::int64_t>> labels() const override { return {}; }

 private:
  const RowColumn& info() const noexcept { return reader_->columns()[column_]; }
  std::shared_ptr<const Column> array(Tensor rows) const {
    return array_column(name(), std::move(rows), layout_);
  }

  std::shared_ptr<const Reader> reader_;
  std::size_t column_;
  Layout layout_;
  std::shared_ptr<const Column> like_;  // an array of the same type without rows
};

}  // namespace

std::vector<std::shared_ptr<const Column>> rows_columns(std::vector<RowColumn> columns,
                                                        std::uint64_t rows, ondine::RowReader read,
                                                        Layout layout) {
  const auto reader = std::make_shared<const Reader>(std::move(columns), rows, std::move(read));
  std::vector<std::shared_ptr<const Column>> result;
  for (std::size_t i = 0; i < reader->columns().size(); ++i) {
    result.push_back(std::make_shared<RowsColumn>(reader, i, layout));
  }
  return result;
}

}  // namespace ondine::data
