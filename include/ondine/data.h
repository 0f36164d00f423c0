// Arrays in files, and batches of them as feeds of a model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ondine/dataset.h>
#include <ondine/export.h>
#include <ondine/limits.h>
#include <ondine/model.h>

namespace ondine {

namespace data {
class BatchReader;
class Column;
}  // namespace data

// Reads IDX (the MNIST family) or .npy, plain or gzip-compressed; the format is detected from the
// contents. Elements that lie in an uncompressed file as in memory (little-endian and aligned, or
// bytes) are mapped: such a file must not be truncated while the tensor is there, and what is
// written to the tensor stays in this process. Throws Error(io), Error(corrupt), Error(unsupported)
// or Error(limit) with the file as context.
ONDINE_API Tensor load_array(const std::filesystem::path& file, const Limits& limits = {});
// The members of an .npz that are arrays of numbers; of any other file its one array, named by the
// file without extensions.
ONDINE_API NamedValues load_arrays(const std::filesystem::path& file, const Limits& limits = {});
// Replaces the file in one step. Error(unsupported) for types that the format lacks.
ONDINE_API void save_array(const std::filesystem::path& file, const Tensor& tensor);

// A value of a test data set and its name: what `type` (PortInfo::type) says it is; empty for a
// TensorProto of any type. Only tensors have names.
ONDINE_API NamedValue load_value(const std::filesystem::path& file, std::string_view type,
                                 const Limits& limits = {});
ONDINE_API void save_value(const std::filesystem::path& file, const NamedValue& value);

struct DataSplits {
  NamedValues train;
  NamedValues validation;  // may be empty
};

// Arrays of files and of all files in folders. The words train, val (or valid, validation) and test
// (or t10k) at the front or end of a name say where an array belongs and are cut off:
// train-images-idx3-ubyte.gz is "images" of train, y_test.npy is "y" of validation. Arrays of test
// are the validation part where there is none for validation, and left out elsewhere. Data of one
// part alone is the training part. A word is part of the name, as in "test_score" beside "x", where
// no name says train, none is there in another part too, and the arrays have as many rows as one
// without a word. Members of an .npz that are no arrays of numbers are left out. Throws
// Error(mismatch) when a name is there twice, or nothing is found.
ONDINE_API DataSplits load_splits(std::span<const std::filesystem::path> places,
                                  const Limits& limits = {});

// 0 .. n-1 in an order that is a pure function of (seed, epoch).
ONDINE_API std::vector<std::uint64_t> shuffled(std::uint64_t n, std::uint64_t seed,
                                               std::uint64_t epoch);

// Roles of the inputs that rows are fed to.
struct FeedRoles {
  std::vector<std::string> targets = {};  // labels, masks and the like
  // The inputs that get unsigned bytes as 0..1, where this was decided before, as in training.
  std::optional<std::vector<std::string>> scaled = {};
};

// Takes rows of a data set as feeds. Elements are converted to the input's type: integers to those
// of 32 and 64 bits, all numbers to floating point ones, rounded; where nothing else fits, numbers
// without a fraction to integers and Booleans of any type that holds all of them. A number that the
// type cannot hold is Error(mismatch) when it is taken.
// An array of unsigned bytes is one of images, 0..255 that become 0..1, where its rows or the
// input's have two dims or more (those of 1 do not count), the input takes floating point numbers,
// and some byte is above 1. Targets keep their numbers, unless the same array feeds an input as
// images: inputs that the roles name, and inputs and arrays named label, target or mask (or in the
// plural). So do tables. scaled() says what was decided. A row fits an input when their dims,
// without those that are 1, are the same or one of the two merges neighbouring dims of the other:
// [28, 28] fits [1, 28, 28] and [784], but [32, 32, 3] never fits [3, 32, 32]. Labels, one integer
// a row, fit an input [N, C] of floating point numbers too where nothing else does: as 1 at the
// label's position and 0 elsewhere. Not thread-safe.
class ONDINE_API Feeder {
 public:
  // Inputs get the columns that `map` says, else that of their own name, else the only one left
  // that fits; inputs with a default may stay without. Where the roles name targets, no other input
  // gets a label that merely fits. Beside the ids of texts there are three more columns, by name
  // only: `attention_mask` (1 at an id, 0 at padding), `position_ids` (0, 1, 2, ...) and
  // `token_type_ids` (0). Throws Error(mismatch) naming what does not fit.
  Feeder(std::span<const PortInfo> inputs, const Dataset& data, const ArrayMap& map = {},
         const FeedRoles& roles = {});
  Feeder(std::span<const PortInfo> inputs, const NamedValues& arrays, const ArrayMap& map = {});

  std::uint64_t size() const noexcept { return size_; }
  // The batch size that the inputs ask for; nothing when any will do.
  std::optional<std::uint64_t> fixed_batch() const noexcept { return fixed_batch_; }
  // Rows have the dims of their own pictures, so that each is a batch of its own.
  bool has_own_sizes() const noexcept;
  // Valid until the next call, which reuses the memory. Error(mismatch) for several rows with own
  // sizes.
  std::span<const NamedValue> take(std::span<const std::uint64_t> rows);
  std::vector<std::string> inputs() const;
  // The inputs that get the pixels of images as 0..1.
  std::vector<std::string> scaled() const;

 private:
  friend class data::BatchReader;
  struct Source {
    std::shared_ptr<const data::Column> column;
    DType dtype;
    std::vector<std::int64_t> row_dims;
    bool is_scaled;
  };
  void add(const PortInfo& input, const std::shared_ptr<const data::Column>& column,
           const FeedRoles& roles);
  void scale_alike();

  std::shared_ptr<const Dataset::Part> part_;
  std::uint64_t size_ = 0;
  std::optional<std::uint64_t> fixed_batch_;
  std::vector<Source> sources_;
  std::vector<std::uint64_t> stored_rows_;  // of the batch, where the part is a selection
  NamedValues feeds_;
};

struct BatchOptions {
  // Order of the rows, a pure function of both.
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  bool shuffle = true;
  // Inputs that the batches are for, for example model.algorithm(0).inputs, as in Feeder. Empty:
  // every column as it is stored.
  std::vector<PortInfo> inputs = {};
  ArrayMap map = {};
  FeedRoles roles = {};
};

class Batch {
 public:
  std::span<const NamedValue> feeds() const noexcept { return feeds_; }
  // Positions of its rows in the part of the data set.
  std::span<const std::uint64_t> rows() const noexcept { return rows_; }

 private:
  friend class Batches;
  std::span<const NamedValue> feeds_;
  std::span<const std::uint64_t> rows_;
};

// A range of batches, of which images and recordings are decoded ahead of time by other threads. It
// is walked once at a time. The last one may be shorter; it is left out where the inputs ask for a
// fixed batch size, which `size` must then be. A batch is valid until the iterator moves.
class ONDINE_API Batches {
 public:
  class iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    using pointer = const Batch*;
    using reference = const Batch&;

    reference operator*() const { return batches_->batch_; }
    pointer operator->() const { return &batches_->batch_; }
    iterator& operator++() {
      batches_->take(++number_);
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return number_ == batches_->count(); }

   private:
    friend class Batches;
    explicit iterator(Batches* batches) : batches_(batches) {}
    Batches* batches_;
    std::uint64_t number_ = 0;
  };

  iterator begin() {
    take(0);
    return iterator(this);
  }
  std::default_sentinel_t end() const noexcept { return {}; }
  std::uint64_t count() const noexcept;  // of batches

 private:
  friend class Dataset;
  Batches(Feeder feeder, std::vector<std::uint64_t> order, std::uint64_t size);
  void take(std::uint64_t number);

  std::shared_ptr<Feeder> feeder_;
  std::shared_ptr<data::BatchReader> reader_;
  std::vector<std::uint64_t> order_;
  std::uint64_t size_;
  Batch batch_;
};

}  // namespace ondine
