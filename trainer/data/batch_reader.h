// Batches of a feeder one after the other, made ahead of time by other threads where that pays.
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include <ondine/data.h>

#include "trainer/data/augment/augmenter.h"
#include "trainer/data/row_source.h"

namespace ondine::data {

struct BatchOrder {
  std::vector<std::uint64_t> rows;  // of the part
  std::uint64_t size = 1;
  std::uint64_t first = 0;  // the position at which the first batch begins
  bool whole_only = false;  // leaves out a short last batch
  // Where batches of different sizes, of at most `size` rows, end in `rows`; empty: after every
  // `size` rows. Nothing is left out then, and `first` is 0.
  std::vector<std::uint64_t> ends = {};
};

// Rows that are decoded or changed are filled in by threads, at most five batches ahead (two where
// they are large); others on the caller's thread. The batches have the same bits for any number of
// threads.
class BatchReader {
 public:
  // The feeder and the augmenter must outlive it; no one else may use the feeder meanwhile.
  // Error(limit) for batches above Reading::batch_bytes, and from Column::check_batch;
  // Error(mismatch) for pictures of their own sizes in batches of several rows or with changes.
  BatchReader(Feeder& feeder, BatchOrder order, const Augmenter* augmenter = nullptr,
              std::uint64_t epoch = 0);
  ~BatchReader();
  BatchReader(const BatchReader&) = delete;
  BatchReader& operator=(const BatchReader&) = delete;

  // Valid until the next call. Throws what its rows throw, of several errors that of the first row,
  // and what Reading::stop() asks for, after which no more batches may be taken.
  // Must not be called more often than there are batches.
  std::span<const NamedValue> next();
  std::uint64_t batches() const;
  std::uint64_t rows() const;  // of all batches
  // Seconds that next() has waited for other threads; nothing where there are none.
  std::optional<double> waited() const noexcept { return waited_; }

  // Columns, row types and names of the feeder's inputs.
  static std::vector<RowSource> sources_of(const Feeder& feeder);
  // The stored rows of the feeder's part.
  static std::vector<std::uint64_t> stored_rows(const Feeder& feeder);

 private:
  struct Slot {
    NamedValues feeds;
    std::vector<std::uint64_t> rows;  // stored
    std::uint64_t missing = 0;        // chunks that are not filled in
    std::exception_ptr error;
    std::uint64_t error_chunk = 0;
  };
  std::span<const std::uint64_t> rows_of(std::uint64_t batch) const;
  std::uint64_t chunks(std::size_t rows) const;
  std::size_t checked_row_bytes() const;
  void open(std::uint64_t batch);
  // Gives the feed of a source memory for the slot's rows.
  void size_feed(Slot& slot, std::size_t source, const Dims& row) const;
  void fill_own_size(Slot& slot) const;
  void fill(Slot& slot, std::uint64_t chunk);
  // With mutex_ locked:
  bool has_chunk() const;
  bool has_slot() const;
  bool open_next() noexcept;  // false when that failed, which ends all work
  void work();
  void wait_for(const Slot& slot, std::uint64_t batch, const Stop& stop);

  Feeder* feeder_;
  BatchOrder order_;
  const Augmenter* augmenter_;
  std::uint64_t epoch_;
  std::vector<RowSource> sources_;
  bool has_own_sizes_ = false;  // every batch is one picture of its own size
  std::uint64_t chunk_rows_ = 1;
  std::optional<double> waited_;

  CancelFlag cancel_ = false;  // of the workers
  std::vector<Slot> slots_;
  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable room_;   // a slot can be filled in
  std::condition_variable ready_;  // a batch is complete
  std::uint64_t taken_ = 0;        // batches that next() has returned
  std::uint64_t open_ = 0;         // batches that have a slot
  std::uint64_t next_chunk_ = 0;   // of the last of these
  bool stop_ = false;
};

}  // namespace ondine::data
