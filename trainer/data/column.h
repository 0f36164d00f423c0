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
#include "trainer/data/open_data.h"
#include "trainer/data/reading.h"

namespace ondine::data {

using Dims = std::vector<std::int64_t>;

// Type of a row as an input takes it.
struct RowType {
  DType dtype = DType::undefined;
  Dims dims;
  bool is_scaled = false;  // unsigned bytes 0..255 become 0..1

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
  // Dims of a row as the input takes it, -1 where each row has its own size; nothing where type or
  // shape do not fit.
  virtual std::optional<Dims> fit(const PortInfo& input) const = 0;
  // `dims` of fit() with the sizes of that row in the place of -1.
  virtual Dims dims_of(std::uint64_t row, Dims dims) const;
  // Advice that would make the column fit, if known; begins with "; ".
  virtual std::string hint(const PortInfo& input) const;
  // The column with its elements as integers or Booleans of the input's type, where it does not fit
  // as it is, but all of its elements are such numbers; nullptr elsewhere.
  virtual std::shared_ptr<const Column> exact(const PortInfo&) const { return nullptr; }
  // Whether one of the elements, which are unsigned bytes, is above 1, so that they may be pixels.
  virtual bool has_large_bytes() const { return false; }
  // Writes the rows one after the other; `type` is one that fits. Error(mismatch) for an element
  // that it cannot hold. Thread-safe.
  virtual void copy(std::span<const std::uint64_t> rows, const RowType& type,
                    std::byte* to) const = 0;
  // Whether an input that this and another column fit takes the other one, unless it has the name
  // of this one.
  virtual bool is_label() const { return false; }
  // Whether a row takes so long that it is worth a thread of its own.
  virtual bool is_slow() const { return false; }
  // The largest value of an element as copy() writes it, where elements are pixels.
  virtual std::optional<double> white(const RowType&) const { return {}; }
  // The file that a row is read from; empty where there is no such file.
  virtual std::string file(std::uint64_t) const { return {}; }
  // Samples a second, where rows are recordings; 0 elsewhere.
  virtual std::int64_t sample_rate() const { return 0; }
  // Throws Error(limit) if a batch of so many rows would be out of proportion to what the column
  // holds.
  virtual void check_batch(std::uint64_t, const RowType&) const {}
  // Remark on the rows for people; empty if there is none.
  virtual std::string note() const { return {}; }
  // Texts of all stored rows, if they are texts that a model takes as they are; nullptr otherwise.
  virtual const std::vector<std::string>* texts() const noexcept { return nullptr; }
  // How many ids a row has before its padding, where rows are ids of texts and no labels.
  virtual std::optional<std::uint64_t> ids_of(std::uint64_t) const { return {}; }
  // The column when it has one integer a row.
  virtual std::optional<std::vector<std::int64_t>> labels() const = 0;

 private:
  std::string name_;
};

// Whether rows of unsigned bytes are pixels for the input, which gets 0..1 instead of 0..255: they
// are those of an image, [H, W] or of more dims as the column or the input has them, for an input
// of floating point numbers that is no target, and some byte is above 1. Labels, masks, targets and
// tables keep their numbers. The roles may have it decided.
bool are_pixels(const Column& column, const PortInfo& input, const Dims& row,
                const FeedRoles& roles);

// A tensor, its first axis the rows. nhwc: a tensor of rank 4 gives rows [C, H, W].
std::shared_ptr<const Column> array_column(std::string name, Tensor array, Layout layout);
// The targets of a data set, one or more numbers a row, which no input takes that another column
// fits as well.
std::shared_ptr<const Column> target_column(std::string name, Tensor array);

// The labels of a column [N] or [N, 1] as 1 at the label's position among `classes` and 0
// elsewhere. Throws Error(mismatch) naming the column and row where a label is none of these.
std::shared_ptr<const Column> one_hot_column(const Column& labels, std::int64_t classes);

// The dims of a row for an input that asks for `wanted` (-1: any), as Feeder's contract says.
std::optional<Dims> fit_dims(std::span<const std::int64_t> wanted,
                             std::span<const std::int64_t> stored);

}  // namespace ondine::data

namespace ondine {

// The options of how rows were read that a data record keeps.
struct ONDINE_HIDDEN OpenedAs {
  Layout layout = Layout::nchw;
  ImageFit image_fit = ImageFit::crop;
  std::optional<ImageSize> image_size;
  double audio_seconds = 0;
  bool predicts_next = false;  // the target is the text one token later
};

// A selection of rows of a table; all of them without `rows`.
struct ONDINE_HIDDEN Dataset::Part {
  std::vector<std::shared_ptr<const data::Column>> columns;
  std::vector<std::string> classes;
  std::optional<std::vector<std::uint64_t>> rows;
  std::vector<std::string> skipped;    // broken files
  std::vector<std::string> notes;      // see Dataset::notes; besides those of the columns
  std::vector<LeftOutArray> left_out;  // arrays that are no columns
  int threads = 0;                     // see DatasetOptions
  std::optional<TextOptions> text;     // see Dataset::text
  std::optional<TableColumns> table;   // see Dataset::table
  std::optional<RawTable> raw;         // see DatasetOptions::raw
  std::string target;                  // see Dataset::target
  std::string weights;                 // see Dataset::weights
  std::shared_ptr<const std::vector<double>> raw_weights;  // of all stored rows, as they were
  OpenedAs opened;
  data::Reading reading;

  // Number of rows of most of the data: the one whose columns have the most elements together. A
  // column with another number of rows can be fed, but is no part of a selection.
  std::uint64_t stored_rows() const;
  std::uint64_t size() const { return rows ? rows->size() : stored_rows(); }
  // The stored row that is row number `row` of the selection.
  std::uint64_t stored(std::uint64_t row) const {
    return rows ? (*rows)[static_cast<std::size_t>(row)] : row;
  }
  // Labels of all stored rows, from the only column that has one integer a row.
  std::optional<std::vector<std::int64_t>> labels() const;
};

namespace data {
// The training part of a data set, for code that describes or divides it.
struct PartAccess {
  static const Dataset::Part& of(const Dataset& data) { return *data.train_; }
  // The rows that are not chosen, and those that are.
  static std::pair<Dataset, Dataset> in_two(const Dataset& data, const std::vector<bool>& chosen);
};

struct Parts {
  Dataset::Part train;
  Dataset::Part validation;  // without columns when there is none
};

// For messages: "; left out: 'seed' (a single number)"; empty where nothing is left out.
std::string describe(const std::vector<LeftOutArray>& left_out);

// Adds a note, unless it is empty, to both parts.
void add_note(Parts& parts, const std::string& note);
}  // namespace data

}  // namespace ondine
