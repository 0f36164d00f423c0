#include "trainer/data/text/beside_ids.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

#include "core/message.h"
#include "trainer/data/text/id_column.h"

namespace ondine::data {
namespace {

enum class Follows { mask, positions, types };

struct Name {
  std::string_view name;
  Follows kind;
};
constexpr std::array<Name, 4> names{{{"attention_mask", Follows::mask},
                                     {"position_ids", Follows::positions},
                                     {"token_type_ids", Follows::types},
                                     {segment_ids, Follows::types}}};

// Writes a row of `length` elements, the first `ids` of which stand beside an id.
template <class T>
void write_row(Follows kind, std::size_t ids, std::size_t length, T* to) {
  if (kind == Follows::positions) return std::iota(to, to + length, T{0});
  std::fill_n(to, length, T{0});
  if (kind == Follows::mask) std::fill_n(to, std::min(ids, length), T{1});
}

class BesideIds final : public Column {
 public:
  BesideIds(std::string name, Follows kind, std::shared_ptr<const Column> ids)
      : Column(std::move(name)), kind_(kind), ids_(std::move(ids)) {}

  std::uint64_t rows() const override { return ids_->rows(); }
  PortInfo port() const override {
    PortInfo port = ids_->port();
    port.name = name();
    port.type = describe();
    return port;
  }
  std::string describe() const override { return "beside " + ids_->describe(); }
  std::optional<Dims> fit(const PortInfo& input) const override {
    const bool is_other_mask = input.dtype == DType::boolean || input.dtype == DType::float32;
    PortInfo as_ids = input;
    if (kind_ == Follows::mask && is_other_mask) as_ids.dtype = DType::int64;
    return ids_->fit(as_ids);
  }
  std::string hint(const PortInfo& input) const override { return ids_->hint(input); }
  void check_batch(std::uint64_t rows, const RowType& type) const override {
    ids_->check_batch(rows, type);
  }
  void copy(std::span<const std::uint64_t> rows, const RowType& type,
            std::byte* to) const override {
    const auto write = [&]<class T>(T* next) {
      const auto length = static_cast<std::size_t>(type.dims[0]);
      for (const std::uint64_t row : rows) {
        write_row(kind_, static_cast<std::size_t>(*ids_->ids_of(row)), length, next);
        next += length;
      }
    };
    switch (type.dtype) {
      case DType::int32:
        return write(reinterpret_cast<std::int32_t*>(to));
      case DType::boolean:
        return write(reinterpret_cast<unsigned char*>(to));
      case DType::float32:
        return write(reinterpret_cast<float*>(to));
      default:
        return write(reinterpret_cast<std::int64_t*>(to));
    }
  }
  std::optional<std::vector<std::int64_t>> labels() const override { return {}; }

 private:
  Follows kind_;
  std::shared_ptr<const Column> ids_;
};

}  // namespace

std::shared_ptr<const Column> only_ids(std::span<const std::shared_ptr<const Column>> columns) {
  const auto has_ids = [](const auto& column) {
    return column->rows() > 0 && column->ids_of(0).has_value();
  };
  if (std::count_if(columns.begin(), columns.end(), has_ids) != 1) return nullptr;
  return *std::find_if(columns.begin(), columns.end(), has_ids);
}

std::shared_ptr<const Column> column_beside_ids(
    std::span<const std::shared_ptr<const Column>> columns, const std::string& name) {
  const auto known =
      std::find_if(names.begin(), names.end(), [&](const Name& one) { return one.name == name; });
  if (known == names.end()) return nullptr;
  std::shared_ptr<const Column> ids = only_ids(columns);
  if (ids == nullptr) return nullptr;
  return std::make_shared<BesideIds>(name, known->kind, std::move(ids));
}

}  // namespace ondine::data
