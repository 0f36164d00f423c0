// Columns of a data set: one entry a row, from wherever it comes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ondine/data.h>

#include "core/hidden.h"
#include "trainer/data/reading.h"

namespace ondine::data {

using Dims = std::vector<std::int64_t>;

// Of a row as an input takes it.
struct RowType {
  DType dtype = DType::undefined;
  Dims dims;

  std::size_t bytes() const;
};

class Column {
 public:
  explicit Column(std::string name) : name_(std::move(name)) {}
  virtual ~Column() = default;
  Column(const Column&) = delete;
  Column& operator=(const Column&) = delete;

  const std::string& name() const noexcept { return name_; }
  virtual std::uint64_t rows() const = 0;
  // As stored: element type and dims, the first -1.
  virtual PortInfo port() const = 0;
  // For messages, for example "uint8[60000, 28, 28]".
  virtual std::string describe() const = 0;
  // Dims of a row as the input takes it; nothing where type or shape do not fit.
  virtual std::optional<Dims> fit(const PortInfo& input) const = 0;
  // What would make it fit, where that is known; begins with "; ".
  virtual std::string hint(const PortInfo& input) const;
  // Writes the rows one after the other; `type` is one that fits. Thread-safe.
  virtual void copy(std::span<const std::uint64_t> rows, const RowType& type,
                    std::byte* to) const = 0;
  // Whether an input that this and another column fit takes the other one, unless it has the name
  // of this one.
  virtual bool is_label() const { return false; }
  // Whether a row takes so long that it is worth a thread of its own.
  virtual bool is_slow() const { return false; }
  // The largest value of an element as copy() writes it, where elements are pixels.
  virtual std::optional<double> white(DType) const { return {}; }
  // The file that a row is read from; empty where there is no such file.
  virtual std::string file(std::uint64_t) const { return {}; }
  // Samples a second, where rows are recordings; 0 elsewhere.
  virtual std::int64_t sample_rate() const { return 0; }
  // Throws Error(limit) if a batch of so many rows would be out of proportion to what the column
  // holds.
  virtual void check_batch(std::uint64_t, const RowType&) const {}
  // What a person should know of the rows; empty where there is nothing.
  virtual std::string note() const { return {}; }
  // The column when it has one integer a row.
  virtual std::optional<std::vector<std::int64_t>> labels() const = 0;

 private:
  std::string name_;
};

// A tensor, its first axis the rows. nhwc: a tensor of rank 4 gives rows [C, H, W].
std::shared_ptr<const Column> array_column(std::string name, Tensor array, Layout layout);

// The labels of a column [N] or [N, 1] as 1 at the label's position among `classes` and 0
// elsewhere. Throws Error(mismatch) naming the column and row where a label is none of these.
std::shared_ptr<const Column> one_hot_column(const Column& labels, std::int64_t classes);

// The dims of a row for an input that asks for `wanted` (-1: any), as Feeder's contract says.
std::optional<Dims> fit_dims(std::span<const std::int64_t> wanted,
                             std::span<const std::int64_t> stored);

}  // namespace ondine::data

namespace ondine {

// A selection of rows of a table; all of them without `rows`.
struct ONDINE_HIDDEN Dataset::Part {
  std::vector<std::shared_ptr<const data::Column>> columns;
  std::vector<std::string> classes;
  std::optional<std::vector<std::uint64_t>> rows;
  std::vector<std::string> skipped;  // broken files
  int threads = 0;                   // see DatasetOptions
  std::optional<TextOptions> text;   // see Dataset::text
  data::Reading reading;

  // Error(mismatch) when the columns differ.
  std::uint64_t size() const;
  // Of all stored rows the labels of the only column that has one integer a row.
  std::optional<std::vector<std::int64_t>> labels() const;
};

namespace data {
struct Parts {
  Dataset::Part train;
  Dataset::Part validation;  // without columns when there is none
};
}  // namespace data

}  // namespace ondine
