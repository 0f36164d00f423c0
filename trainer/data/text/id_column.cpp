#include "trainer/data/text/id_column.h"

#include "core/message.h"

namespace ondine::data {

bool takes_ids(const PortInfo& input) {
  const bool has_type = input.dtype == DType::int64 || input.dtype == DType::int32;
  return has_type && (!input.dims || input.dims->size() == 2);
}

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

PortInfo IdColumn::port() const {
  PortInfo port;
  port.name = name();
  port.dtype = DType::int64;
  port.type = describe();
  port.dims = {-1, length()};
  return port;
}

std::string IdColumn::describe() const { return cat("texts[", rows(), ", ", length(), "]"); }

std::optional<std::uint64_t> IdColumn::ids_of(std::uint64_t row) const {
  if (is_label()) return {};
  return size_of(ids(row));
}

void IdColumn::copy(std::span<const std::uint64_t> rows, const RowType& type, std::byte* to) const {
  for (const std::uint64_t row : rows) {
    write_ids(ids(row), end(), type, to);
    to += type.bytes();
  }
}

void RowLength::check_batch(std::uint64_t rows, const RowType& type) const {
  constexpr std::uint64_t usual = std::uint64_t{512} << 20;
  constexpr std::uint64_t most_padding = 64;
  if (!longest_ || type.dims[0] != length_) return;
  const std::uint64_t bytes = type.bytes();
  const std::uint64_t stored = size_of(type.dtype) * longest_->ids_of_all;
  if (rows == 0 || bytes <= std::max(usual, most_padding * stored) / rows) return;
  fail(ErrorCode::limit, "a batch of ", rows, " rows takes ", rows * bytes, " bytes, as ",
       padding_note(), "; all texts together have ", longest_->ids_of_all, " ids");
}

std::string RowLength::note() const {
  if (!longest_ || longest_->ids < 256) return {};
  // A tenth of what the model reads.
  if (longest_->ids_of_all >= longest_->ids * rows_ / 10) return {};
  return padding_note();
}

std::string RowLength::padding_note() const {
  return cat("each text is padded to the ", longest_->ids, " ids of row ", longest_->row,
             ", the longest one; --text-length N (TextOptions::length) cuts texts off after N "
             "ids");
}

}  // namespace ondine::data
