#include "trainer/data/files/row_cache.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>

namespace ondine::data {
namespace {

// Cache of rows of one type, read without a lock.
class RowCache {
 public:
  RowCache(std::uint64_t rows, RowType type, std::uint64_t bytes)
      : type_(std::move(type)), row_bytes_(type_.bytes()) {
    const std::uint64_t index = rows * sizeof(Slot);
    constexpr std::uint64_t of_allocator = 16;
    if (index >= bytes) return;
    left_ = (bytes - index) / (row_bytes_ + of_allocator);
    slots_ = std::vector<Slot>(rows);
  }
  ~RowCache() {
    for (Slot& slot : slots_) delete[] slot.load();
  }
  RowCache(const RowCache&) = delete;
  RowCache& operator=(const RowCache&) = delete;

  bool takes(const RowType& type) const {
    return !slots_.empty() && type.dtype == type_.dtype && type.dims == type_.dims;
  }
  bool read(std::uint64_t row, std::byte* to) const {
    const std::byte* const kept = slots_[row].load(std::memory_order_acquire);
    if (kept == nullptr) return false;
    std::copy_n(kept, row_bytes_, to);
    return true;
  }
  // Where there is room. A row that two threads bring at once is kept once and counts twice.
  void keep(std::uint64_t row, const std::byte* from) {
    std::uint64_t left = left_.load(std::memory_order_relaxed);
    do {
      if (left == 0) return;
    } while (!left_.compare_exchange_weak(left, left - 1, std::memory_order_relaxed));
    auto* const copy = new (std::nothrow) std::byte[row_bytes_];
    if (copy == nullptr) return;
    std::copy_n(from, row_bytes_, copy);
    std::byte* none = nullptr;
    if (!slots_[row].compare_exchange_strong(none, copy, std::memory_order_release)) delete[] copy;
  }

 private:
  using Slot = std::atomic<std::byte*>;

  RowType type_;
  std::size_t row_bytes_;
  std::atomic<std::uint64_t> left_ = 0;  // rows that may still be kept
  std::vector<Slot> slots_;
};

class CachedColumn final : public Column {
 public:
  CachedColumn(std::shared_ptr<const Column> column, std::uint64_t bytes)
      : Column(column->name()), column_(std::move(column)), bytes_(bytes) {}

  std::uint64_t rows() const override { return column_->rows(); }
  PortInfo port() const override { return column_->port(); }
  std::string describe() const override { return column_->describe(); }
  std::optional<Dims> fit(const PortInfo& input) const override { return column_->fit(input); }
  Dims dims_of(std::uint64_t row, Dims dims) const override {
    return column_->dims_of(row, std::move(dims));
  }
  std::string hint(const PortInfo& input) const override { return column_->hint(input); }
  bool is_label() const override { return column_->is_label(); }
  bool is_slow() const override { return column_->is_slow(); }
  std::optional<double> white(const RowType& type) const override { return column_->white(type); }
  std::string file(std::uint64_t row) const override { return column_->file(row); }
  std::int64_t sample_rate() const override { return column_->sample_rate(); }
  std::string note() const override { return column_->note(); }
  std::optional<std::vector<std::int64_t>> labels() const override { return column_->labels(); }

  void copy(std::span<const std::uint64_t> rows, const RowType& type,
            std::byte* to) const override {
    std::call_once(made_, [&] { cache_.emplace(column_->rows(), type, bytes_); });
    if (!cache_->takes(type)) return column_->copy(rows, type, to);
    const std::size_t row_bytes = type.bytes();
    for (const std::uint64_t row : rows) {
      if (!cache_->read(row, to)) {
        column_->copy(std::span(&row, 1), type, to);
        cache_->keep(row, to);
      }
      to += row_bytes;
    }
  }

 private:
  std::shared_ptr<const Column> column_;
  std::uint64_t bytes_;
  mutable std::once_flag made_;
  mutable std::optional<RowCache> cache_;
};

}  // namespace

std::shared_ptr<const Column> cached_rows(std::shared_ptr<const Column> column,
                                          std::uint64_t bytes) {
  if (bytes == 0) return column;
  return std::make_shared<CachedColumn>(std::move(column), bytes);
}

}  // namespace ondine::data
