#include "trainer/data/batch_reader.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <system_error>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "core/stop.h"

namespace ondine::data {
namespace {

// Slots for the batch in use and those to come: two of these if batches are large.
constexpr std::size_t few_slots = 3;
constexpr std::size_t many_slots = 6;
constexpr std::size_t large_batch = std::size_t{16} << 20;  // bytes
// A row of that size is decoded in less time than it takes to share the work.
constexpr std::size_t small_row = std::size_t{1} << 14;

int thread_count(int wanted) {
  if (wanted > 0) return wanted;
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace

std::vector<RowSource> BatchReader::sources_of(const Feeder& feeder) {
  std::vector<RowSource> sources;
  for (std::size_t i = 0; i < feeder.sources_.size(); ++i) {
    const Feeder::Source& one = feeder.sources_[i];
    sources.push_back(
        {feeder.feeds_[i].first, one.column, {one.dtype, one.row_dims, one.is_scaled}});
  }
  return sources;
}

std::vector<std::uint64_t> BatchReader::stored_rows(const Feeder& feeder) {
  if (feeder.part_->rows) return *feeder.part_->rows;
  std::vector<std::uint64_t> rows(feeder.size());
  std::iota(rows.begin(), rows.end(), std::uint64_t{0});
  return rows;
}

BatchReader::BatchReader(Feeder& feeder, BatchOrder order, const Augmenter* augmenter,
                         std::uint64_t epoch)
    : feeder_(&feeder),
      order_(std::move(order)),
      augmenter_(augmenter),
      epoch_(epoch),
      sources_(sources_of(feeder)) {
  has_own_sizes_ = feeder.has_own_sizes();
  if (has_own_sizes_ && (order_.size > 1 || augmenter != nullptr)) {
    fail(ErrorCode::mismatch,
         "the pictures keep their own sizes, so that they make no batches; give one size for all: "
         "--image-size HEIGHTxWIDTH");
  }
  const bool is_slow = std::any_of(sources_.begin(), sources_.end(),
                                   [](const RowSource& one) { return one.column->is_slow(); });
  const std::size_t row_bytes = has_own_sizes_ ? large_batch + 1 : checked_row_bytes();
  if (!is_slow) chunk_rows_ = 8;
  if (is_slow && row_bytes <= small_row) chunk_rows_ = 4;
  if (!is_slow && augmenter == nullptr) return;
  slots_.resize(row_bytes <= large_batch / order_.size ? many_slots : few_slots);
  waited_ = 0;
  const int wanted = thread_count(feeder.part_->threads);
  workers_.reserve(static_cast<std::size_t>(wanted));
  try {
    for (int i = 0; i < wanted; ++i) workers_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
    // Threads that were started do the work; if there are none, next() does it.
  }
}

BatchReader::~BatchReader() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  cancel_.store(true, std::memory_order_relaxed);
  room_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

std::size_t BatchReader::checked_row_bytes() const {
  const std::uint64_t rows = std::min<std::uint64_t>(order_.size, order_.rows.size());
  const std::uint64_t most = feeder_->part_->reading.batch_bytes;
  std::size_t row_bytes = 0;
  for (const RowSource& one : sources_) {
    one.column->check_batch(rows, one.type);
    const std::size_t bytes = one.type.bytes();
    if (rows > 0 && bytes > (most - row_bytes) / rows) {
      fail(ErrorCode::limit, "a batch of ", rows, " rows of input ", quoted(one.input),
           " takes more than the ", most, " bytes of Limits::arena_bytes: a row has ", bytes);
    }
    row_bytes += bytes;
  }
  return row_bytes;
}

std::uint64_t BatchReader::batches() const {
  if (!order_.ends.empty()) return order_.ends.size();
  const std::uint64_t left = order_.rows.size() - order_.first;
  return left / order_.size + (left % order_.size != 0 && !order_.whole_only ? 1 : 0);
}

std::uint64_t BatchReader::rows() const {
  const std::uint64_t left = order_.rows.size() - order_.first;
  return order_.whole_only ? left / order_.size * order_.size : left;
}

std::span<const std::uint64_t> BatchReader::rows_of(std::uint64_t batch) const {
  if (!order_.ends.empty()) {
    const std::uint64_t begin = batch == 0 ? 0 : order_.ends[batch - 1];
    return std::span(order_.rows).subspan(begin, order_.ends[batch] - begin);
  }
  const std::uint64_t first = order_.first + batch * order_.size;
  return std::span(order_.rows)
      .subspan(first, std::min<std::uint64_t>(order_.size, order_.rows.size() - first));
}

std::uint64_t BatchReader::chunks(std::size_t rows) const {
  return (rows + chunk_rows_ - 1) / chunk_rows_;
}

// Gives the batch a slot and memory.
void BatchReader::open(std::uint64_t batch) {
  Slot& slot = slots_[batch % slots_.size()];
  const auto rows = rows_of(batch);
  slot.rows.assign(rows.begin(), rows.end());
  const auto& selection = feeder_->part_->rows;
  if (selection) {
    for (std::uint64_t& row : slot.rows) row = (*selection)[row];
  }
  slot.feeds.resize(sources_.size());
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    slot.feeds[i].first = sources_[i].input;
    // The size of a picture is found out with its row.
    if (!has_own_sizes_) size_feed(slot, i, sources_[i].type.dims);
  }
  slot.missing = chunks(rows.size());
  slot.error = nullptr;
}

void BatchReader::size_feed(Slot& slot, std::size_t source, const Dims& row) const {
  Shape shape{static_cast<std::int64_t>(slot.rows.size())};
  for (const std::int64_t dim : row) shape.push_back(dim);
  Value& value = slot.feeds[source].second;
  if (value.is_tensor() && value.tensor().shape() == shape) return;
  value = Tensor(sources_[source].type.dtype, shape);
}

void BatchReader::fill_own_size(Slot& slot) const {
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    RowType type = sources_[i].type;
    type.dims = sources_[i].column->dims_of(slot.rows[0], std::move(type.dims));
    size_feed(slot, i, type.dims);
    auto* to = static_cast<std::byte*>(slot.feeds[i].second.tensor().mutable_data());
    sources_[i].column->copy(slot.rows, type, to);
  }
}

void BatchReader::fill(Slot& slot, std::uint64_t chunk) {
  if (has_own_sizes_) return fill_own_size(slot);
  const std::size_t first = chunk * chunk_rows_;
  const std::size_t last = std::min<std::size_t>(first + chunk_rows_, slot.rows.size());
  const auto rows = std::span(slot.rows).subspan(first, last - first);
  std::vector<std::byte*> entries;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const RowType& type = sources_[i].type;
    auto* start = static_cast<std::byte*>(slot.feeds[i].second.tensor().mutable_data());
    entries.push_back(start + first * type.bytes());
    sources_[i].column->copy(rows, type, entries.back());
  }
  if (augmenter_ == nullptr) return;
  for (const std::uint64_t row : rows) {
    augmenter_->change(epoch_, row, entries);
    for (std::size_t i = 0; i < sources_.size(); ++i) entries[i] += sources_[i].type.bytes();
  }
}

bool BatchReader::has_chunk() const {
  return open_ > 0 && next_chunk_ < chunks(rows_of(open_ - 1).size());
}

bool BatchReader::has_slot() const {
  return open_ < batches() && open_ + 1 < std::max<std::uint64_t>(taken_, 1) + slots_.size();
}

bool BatchReader::open_next() noexcept {
  try {
    open(open_);
  } catch (...) {
    Slot& slot = slots_[open_ % slots_.size()];
    slot.missing = 0;
    slot.error = std::current_exception();
    stop_ = true;
    ready_.notify_all();
  }
  ++open_;
  next_chunk_ = 0;
  return !stop_;  // threads without work are woken in wait_for()
}

void BatchReader::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    room_.wait(lock, [&] { return stop_ || has_chunk() || has_slot(); });
    if (stop_ || (!has_chunk() && !open_next())) return;
    Slot& slot = slots_[(open_ - 1) % slots_.size()];
    const std::uint64_t chunk = next_chunk_++;
    lock.unlock();
    std::exception_ptr error;
    try {
      const StopScope scope({&cancel_, feeder_->part_->reading.stop().deadline});
      fill(slot, chunk);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error && (!slot.error || chunk < slot.error_chunk)) {
      slot.error = error;
      slot.error_chunk = chunk;
    }
    if (--slot.missing == 0) ready_.notify_all();
  }
}

void BatchReader::wait_for(const Slot& slot, std::uint64_t batch, const Stop& stop) {
  const auto is_ready = [&] { return open_ > batch && slot.missing == 0; };
  std::unique_lock lock(mutex_);
  ++taken_;
  // Threads that found no room sleep until half of the batches are used up: each waking takes time
  // from the step.
  if (open_ <= taken_ + slots_.size() / 2) room_.notify_all();
  if (!is_ready()) {
    const auto start = std::chrono::steady_clock::now();
    // A flag that another thread sets wakes no one.
    constexpr std::chrono::milliseconds between_checks{50};
    const bool can_stop = stop.cancel != nullptr || stop.deadline;
    while (can_stop && !ready_.wait_for(lock, between_checks, is_ready)) stop.check();
    ready_.wait(lock, is_ready);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    *waited_ += seconds.count();
  }
  if (slot.error) std::rethrow_exception(slot.error);
}

std::span<const NamedValue> BatchReader::next() {
  return guard_memory("take a batch", [&]() -> std::span<const NamedValue> {
    const std::uint64_t batch = taken_;
    const Stop stop = feeder_->part_->reading.stop();
    const StopScope scope(stop);
    check_stop();
    if (batch >= batches()) fail(ErrorCode::internal, "no more batches");
    if (slots_.empty()) {
      ++taken_;
      return feeder_->take(rows_of(batch));
    }
    Slot& slot = slots_[batch % slots_.size()];
    if (!workers_.empty()) {
      wait_for(slot, batch, stop);
      return slot.feeds;
    }
    const auto start = std::chrono::steady_clock::now();
    ++taken_;
    open(batch);
    for (std::uint64_t i = 0; i < chunks(slot.rows.size()); ++i) {
      check_stop();
      fill(slot, i);
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    *waited_ += seconds.count();
    return slot.feeds;
  });
}

}  // namespace ondine::data
