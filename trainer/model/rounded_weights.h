// Frozen weights in bfloat16 or in 8-bit integers, for products that round their factors anyway: a
// half or a quarter of the bytes to hold and to read.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include <ondine/tensor.h>

#include "graph/passes/pass.h"
#include "proto/mapped_file.h"

namespace ondine::trainer {

// Shared by the graphs of a model. Thread-safe.
class RoundedWeights {
 public:
  using Files = std::vector<std::shared_ptr<const MappedFile>>;

  // The mapped files that hold the model's tensors.
  explicit RoundedWeights(const Files& files);

  // The elements of `weights`, float32, in bfloat16: to nearest, ties to even. They are computed
  // when they are first asked for, and the pages of the weights go back to the system. Undefined
  // where the weights are neither in a file nor deferred, since then both would be in memory.
  Tensor of(const Tensor& weights);

  // A matrix of float32, float16 or bfloat16 in int8, with one scale for each index of the axis:
  // the largest magnitude / 127, NaN where an element is not finite. Elements and scales are
  // computed when they are first asked for. The axis of the first call holds.
  graph::RoundedMatrix in_bytes(const Tensor& weights, std::int64_t axis);

 private:
  std::shared_ptr<const MappedFile> file_of(std::span<const std::byte> stored) const;

  // Memory, dtype and dims of weights: tensors of a file may overlap.
  using Key = std::tuple<const void*, DType, std::vector<std::int64_t>>;
  static Key key_of(const Tensor& weights);

  struct Bytes {
    Tensor source;  // keeps its memory from others
    graph::RoundedMatrix matrix;
  };

  std::vector<std::weak_ptr<const MappedFile>> files_;
  std::mutex mutex_;
  std::map<Key, Tensor> known_;
  std::map<Key, Bytes> bytes_;
};

}  // namespace ondine::trainer
