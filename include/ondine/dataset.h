// Data sets: named columns with one entry a row, from files or from memory.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ondine/data_limits.h>
#include <ondine/export.h>
#include <ondine/limits.h>
#include <ondine/model.h>
#include <ondine/table.h>
#include <ondine/text.h>

namespace ondine {

// Input name and the name of the array or column that it takes.
using ArrayMap = std::vector<std::pair<std::string, std::string>>;

// Order of the axes of image arrays of rank 4.
enum class Layout : std::uint8_t { nchw, nhwc };

// How an image of another aspect ratio becomes one of the input's size, both by bilinear resampling
// with a triangle filter that widens when the image shrinks.
enum class ImageFit : std::uint8_t {
  crop,     // scaled until it covers the size, then cut to its centre
  stretch,  // each axis scaled on its own
};

struct ImageSize {
  std::int64_t height = 0;
  std::int64_t width = 0;
};

// A Resize among a model's own operators.
struct InnerResize {
  ImageSize size;
  bool antialias = false;  // its filter widens where pictures shrink
};

// How recordings become rows of samples: mixed down to one channel, the mean of all.
struct AudioOptions {
  std::int64_t rate = 0;  // samples a second of the rows; 0: those of the first recording
  double seconds = 0;     // of a row, where the model's input leaves its length open
  bool resample = true;   // recordings with another rate; else they are an error
};

// Purpose that data is opened for.
enum class DataUse : std::uint8_t {
  training,    // every row needs its target
  evaluation,  // like training, but pictures that the model resizes keep their own sizes
  inference,   // targets are not read, so that they may be missing or unknown
};

// Names of the columns of a table.
struct TableColumns {
  std::vector<std::string> features;  // in the order of "features"
  std::string target;                 // empty: none was read
  std::optional<double> fill = {};    // for missing numbers

  friend bool operator==(const TableColumns&, const TableColumns&) = default;
};

struct DatasetOptions {
  Limits limits = data_limits();
  // nhwc: arrays of rank 4 are [N, H, W, C] and their rows are transposed to [C, H, W].
  Layout layout = Layout::nchw;
  ImageFit image_fit = ImageFit::crop;
  std::optional<ImageSize> image_size = {};  // where the model's input leaves it open
  // Resizing inside a model that takes unsigned bytes of any size. Training needs batches, so
  // without `image_size` the reader resizes in the same way, to within half a level of 255;
  // evaluation and inference take each picture in its own size.
  std::optional<InnerResize> inner_resize = {};
  DataUse use = DataUse::training;
  std::string target = {};  // column of a CSV file; empty: the last one
  // Columns of a CSV file that "features" holds, in this order, wherever they are in a file;
  // columns of other names are left out, and a note names them. Empty: all but the target.
  std::vector<std::string> features = {};
  std::vector<std::string> drop = {};  // columns of a CSV file that are no features
  // Reads a CSV file into a column for each feature by its own name instead of "features": numbers
  // as float64 [N], NaN where one is missing, and categories as strings [N], empty where one is
  // missing.
  std::optional<RawTable> raw = {};
  // With DataUse::inference, where neither `features` nor `target` are given: numbers in a row of
  // the model's input, which tells whether the last column of a CSV file is a target. 0: unknown.
  std::int64_t feature_count = 0;
  std::optional<double> fill = {};  // for missing numbers of a CSV file
  // Column or array with the weight of each row, at least 0, which is no feature; empty: rows count
  // alike. Losses and metrics multiply what a row adds by it (Dataset::weights).
  std::string weights = {};
  // Data without that column are read without weights; else they are an error.
  bool weights_are_optional = false;
  // Names of the classes in the order of a model's outputs; empty: those of the training data, in
  // alphabetical order.
  std::vector<std::string> classes = {};
  // Decodes every image and recording once and leaves out those that are broken, instead of failing
  // when one of them is taken.
  bool skip_broken = false;
  // Lists of files may name files outside their own folder, by absolute paths and "..".
  bool outside_files = false;
  int threads = 0;  // that decode images and recordings; 0: one for each processor
  TextOptions text = {};
  AudioOptions audio = {};
  // Decoded images and recordings that are kept in memory, of each part: what is taken first stays,
  // the rest is decoded again whenever it is taken. A file that changes meanwhile may go unnoticed.
  std::uint64_t cache_bytes = std::uint64_t{256} << 20;
  // Time limit of opening, and of every batch: Error(limit) when it takes longer.
  std::optional<std::chrono::milliseconds> deadline = {};
  // Flag that ends both with Error(cancelled).
  std::shared_ptr<const CancelFlag> cancel = {};
};

// A column of rows that the caller makes: element type and dims of its entry in a row.
struct RowColumn {
  std::string name;
  DType dtype = DType::undefined;
  std::vector<std::int64_t> dims = {};  // all at least 0; empty: one element a row
};

// The entries of a row, all zeros, for the caller to write. Valid during the call that gets it.
class ONDINE_API Row {
 public:
  explicit Row(std::span<NamedValue> entries) noexcept : entries_(entries) {}
  // Shares the memory of the entry. Error(not_found) that lists the columns.
  Tensor operator[](std::string_view column) const;
  // Error(mismatch) when T is not the column's C++ type.
  template <class T>
  std::span<T> values(std::string_view column) const {
    Tensor entry = (*this)[column];
    return entry.mutable_values<T>();
  }

 private:
  std::span<NamedValue> entries_;
};

// Writes the entries of row `row`, the same whenever it is asked for. What it throws ends the call
// that needs the row.
using RowReader = std::function<void(std::uint64_t row, const Row& out)>;

class Batches;
struct BatchOptions;
namespace data {
struct PartAccess;
struct Parts;
}  // namespace data

// A training part and possibly a validation part. Copies share the data; immutable, so any number
// of threads may read.
class ONDINE_API Dataset {
 public:
  Dataset();  // no rows
  // Opens the data at the places, which hold one of these:
  // - IDX, .npy and .npz files, and folders of them, by the rules of load_splits.
  // - One folder with a folder of images (PNG, JPEG, BMP, WebP, TIFF) for each class, or with such
  //   folders named train and val (or the like). Columns "image", decoded when a batch is taken,
  //   and "label", the position of the folder's name in classes(). An input [N, C, H, W] or [N, H,
  //   W, C] takes the images, C being 1 (grey) or 3 (red, green, blue): 0..1 in floating point,
  //   0..255 in unsigned bytes, upright as the file's EXIF says, which all have the size of the
  //   first image where neither the input nor image_size says one.
  // - One folder with the folders images and masks, or with folders named train and val (or the
  //   like) that have both. Columns "image" and "mask", int64 [N, H, W], the grey value of each
  //   pixel (1 for 255 in masks of 0 and 255 alone). Files of one name without the extension belong
  //   together.
  // - Images, or a folder with images in it and none in folders below: the column "image" alone.
  // - Recordings (WAV, FLAC, Ogg) in each of these ways. Columns "audio" and "label". An input [N,
  //   T], [N, 1, T] or [N, T, 1] takes the samples, in -1..1 in floating point, in -32768..32767 in
  //   int16: the first T of a recording, followed by zeros where it is shorter.
  // - .csv and .tsv files with a header whose first row names an image file in some column: the
  //   images (paths are relative to the file's folder and stay below it, see outside_files) and the
  //   target, as below.
  // - .csv and .tsv files with a header; the words that load_splits knows tell validation data.
  //   Columns "features" [N, F], the numbers of every column but the target, and the target by its
  //   name: integers, floating point numbers or, for any other text, positions in classes().
  // - .txt files, or a folder of them, for models of the next token: columns "text" and "label",
  //   int64 [N, T], windows of T = text.length ids and the ids that follow each of them. Windows do
  //   not overlap or reach over the end of a file. A file is one text for text.encoding.
  // - .jsonl files (a JSON object on each line), and .csv and .tsv files with a header, that have
  //   the column text.column: this column, int64 [N, T], and the target as above ("label" in .jsonl
  //   files), if there is one. text.encoding says what the ids are.
  // - .jsonl files for models of the next token, as text.next says: objects with a text and no
  //   label, with a prompt and a completion, or with messages. Columns "text" and "label", int64
  //   [N, T]: all ids of a row but the last, and the ids that follow, or next.ignored_label.
  //   Error(mismatch) for options of text.next that have no effect on the rows.
  // Throws what load_splits throws, and Error(mismatch) or Error(corrupt) naming file, row and
  // column for a missing number without a fill, a row of another length, a class that the training
  // part (or options.classes) lacks, and a class without images.
  static Dataset open(const std::filesystem::path& place, const DatasetOptions& options = {});
  static Dataset open(std::span<const std::filesystem::path> places,
                      const DatasetOptions& options = {});
  // Tensors whose first axis counts rows; they are shared, not copied.
  static Dataset from(NamedValues train, NamedValues validation = {},
                      const DatasetOptions& options = {});

  // Rows from a sensor, a database or whatever the caller reads: `read` is called when a row is
  // needed, by one thread at a time, and not while another Dataset reads by it. Unsigned bytes with
  // two dims or more in a row are pixels. Splits are not stratified and class_counts() is empty,
  // since both would read every row. Error(mismatch) for columns without a name or type, names that
  // are there twice, string columns and dims below 0.
  static Dataset from_rows(std::vector<RowColumn> columns, std::uint64_t rows, RowReader read,
                           const DatasetOptions& options = {});

  // Rows of the training part; where its columns differ, of those with the most elements.
  std::uint64_t rows() const;
  bool empty() const;          // the training part has no columns
  Dataset train() const;       // without the validation part
  Dataset validation() const;  // the validation part as a data set; may be empty
  bool has_validation() const { return !validation().empty(); }

  // Rows of the training part in two: round(fraction * rows) of them, at least 1, are the second's.
  // Where there is exactly one column of one integer a row, each of its values keeps its share of
  // both parts to within one row (stratified). A pure function of the data, the fraction and the
  // seed; each part keeps the order of the rows. An own validation part is left out.
  // Error(mismatch) unless 0 < fraction < 1 and both parts have rows.
  std::pair<Dataset, Dataset> split(double fraction, std::uint64_t seed = 0) const;
  // The training part `count` times in two, for cross-validation: the rows but for one fold, and
  // that fold. Each row is in one fold; folds differ by at most one row, also in the rows that they
  // have of each value of the column above. A pure function of data, count and seed.
  // Error(mismatch) unless there are 2 folds or more and each has a row.
  std::vector<std::pair<Dataset, Dataset>> folds(std::uint64_t count, std::uint64_t seed = 0) const;

  // Names of the classes, where the data names them; labels are positions in it.
  const std::vector<std::string>& classes() const;
  // The image or recording of a row of the training part; empty where the data is no such files.
  std::string file(std::uint64_t row) const;
  // Samples a second of the training part's recordings; 0 where there are none.
  std::int64_t sample_rate() const;
  // Files of the training part that skip_broken left out, each followed by ": " and what is wrong.
  const std::vector<std::string>& skipped() const;
  // Rows of the training part with label 0, 1, ..., up to the largest, or to the last of classes():
  // where exactly one column has one integer a row and none is negative or above 2^20; empty
  // elsewhere.
  std::vector<std::uint64_t> class_counts() const;
  // Weights of classes in inverse proportion to their rows: for each of C classes, the rows over C
  // times those of the class. Error(mismatch) where class_counts() is empty or a class has no row.
  std::vector<float> balanced_class_weights() const;
  // Name of the column of targets, where the kind of data says which it is; empty for arrays.
  const std::string& target() const;
  // Name of the column of weights (DatasetOptions::weights), whose numbers were multiplied so that
  // their mean over the rows of each part is 1; empty where there is none.
  const std::string& weights() const;
  // Columns of the files that "features" and the target were read from; nothing for other data.
  const std::optional<TableColumns>& table() const;
  // How texts of the training part were read; nothing where it has none.
  const std::optional<TextOptions>& text() const;
  // Facts that a person should know about the training part, for example how many recordings are
  // resampled.
  std::vector<std::string> notes() const;
  // Columns of the training part with rows() rows as they are stored: name, element type and dims,
  // the first -1.
  std::vector<PortInfo> columns() const;

  // The training part in batches, for example
  //   for (const Batch& batch : data.batches(32, {.seed = 1})) model.train_step(batch.feeds());
  // None where empty(), whatever the inputs.
  Batches batches(std::uint64_t size) const;
  Batches batches(std::uint64_t size, const BatchOptions& options) const;

  struct Part;

 private:
  friend class Feeder;
  friend struct data::PartAccess;
  explicit Dataset(data::Parts parts);
  static Dataset read(std::span<const std::filesystem::path> places, const DatasetOptions& options);
  void set_reading(const DatasetOptions& options);

  std::shared_ptr<const Part> train_;
  std::shared_ptr<const Part> validation_;
};

// How data are read to evaluate on beside `training`: as `options` say, with the classes, columns,
// target and sample rate of `training`.
ONDINE_API DatasetOptions options_like(const Dataset& training, DatasetOptions options);

// Samples a second that the model takes, from its data record, where prepare writes those of a
// log-mel spectrogram and training those of recordings; 0 where it says none.
ONDINE_API std::int64_t sample_rate(const Model& model);

}  // namespace ondine
