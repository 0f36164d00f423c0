// Arrays in files, and batches of them as feeds of a model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ondine/limits.h>
#include <ondine/model.h>

namespace ondine {

// Reads IDX (the MNIST family) or .npy, plain or gzip-compressed; the kind is told by the content.
// Throws Error(io), Error(corrupt), Error(unsupported) or Error(limit) with the file as context.
Tensor load_array(const std::filesystem::path& file, const Limits& limits = {});
// The members of an .npz; of any other file its one array, named by the file without extensions.
NamedValues load_arrays(const std::filesystem::path& file, const Limits& limits = {});
// Replaces the file in one step. Error(unsupported) for types that the format lacks.
void save_array(const std::filesystem::path& file, const Tensor& tensor);

// A value of a test data set and its name: what `type` (PortInfo::type) says it is; empty for a
// TensorProto of any type. Only tensors have names.
NamedValue load_value(const std::filesystem::path& file, std::string_view type,
                      const Limits& limits = {});
void save_value(const std::filesystem::path& file, const NamedValue& value);

struct DataSplits {
  NamedValues train;
  NamedValues validation;  // may be empty
};

// Arrays of files and of all files in folders. The words train, and t10k, test, val, valid or
// validation at the front or end of a name say where an array belongs and are cut off:
// train-images-idx3-ubyte.gz is "images" of train, y_test.npy is "y" of validation. Throws
// Error(mismatch) when a name is there twice, or nothing is found.
DataSplits load_splits(std::span<const std::filesystem::path> places, const Limits& limits = {});

// 0 .. n-1 in an order that is a pure function of (seed, epoch).
std::vector<std::uint64_t> shuffled(std::uint64_t n, std::uint64_t seed, std::uint64_t epoch);

// Input name and array name.
using ArrayMap = std::vector<std::pair<std::string, std::string>>;

// Takes rows of arrays (entries of their first axis) as feeds. Elements are converted to the
// input's type, unsigned bytes for a floating point input from 0..255 to 0..1; rows are reshaped
// when they have as many elements as the input's. Not thread-safe.
class Feeder {
 public:
  // Inputs get the arrays that `map` says, else that of their own name, else the only one left that
  // fits; inputs with a default may stay without. Throws Error(mismatch) naming what does not fit.
  Feeder(std::span<const PortInfo> inputs, const NamedValues& arrays, const ArrayMap& map = {});

  std::uint64_t size() const noexcept { return size_; }
  // The batch size that the inputs ask for; nothing when any will do.
  std::optional<std::uint64_t> fixed_batch() const noexcept { return fixed_batch_; }
  // Valid until the next call, which reuses the memory.
  std::span<const NamedValue> take(std::span<const std::uint64_t> rows);
  std::vector<std::string> inputs() const;

 private:
  struct Source {
    Tensor array;
    DType dtype;
    std::vector<std::int64_t> row_dims;
  };
  void add(const PortInfo& input, const Tensor& array);

  std::uint64_t size_ = 0;
  std::optional<std::uint64_t> fixed_batch_;
  std::vector<Source> sources_;
  NamedValues feeds_;
};

}  // namespace ondine
