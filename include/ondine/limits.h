// Bounds on what a model may ask for. Reaching one is Error(limit), never a changed result.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <ondine/export.h>

namespace ondine {

// Three quarters of the memory that the machine or, if that is less, the control group of the
// process has, or that addresses reach; 32 GiB where neither is known. Read once.
ONDINE_API std::uint64_t default_arena_bytes() noexcept;

struct Limits {
  std::uint64_t model_bytes = std::uint64_t{2} << 30;  // of the .onnx file itself
  // Memory that decoding the model is estimated to take, by a scan of the wire format beforehand.
  std::uint64_t parse_bytes = std::uint64_t{6} << 30;
  int message_depth = 100;
  int subgraph_depth = 32;
  std::size_t functions = 10'000;
  int call_depth = 64;
  std::size_t nodes = 1'000'000;  // of one graph after functions are inlined
  std::size_t rank = 32;
  std::size_t name_length = 65'536;
  std::uint64_t tensor_bytes = std::uint64_t{16} << 30;
  std::uint64_t weight_bytes = std::uint64_t{32} << 30;  // sum over a model
  std::size_t external_files = 4'096;
  // Everything that calls of a model allocate, with what holds the elements of sequences and maps.
  std::uint64_t arena_bytes = default_arena_bytes();
  std::uint64_t loop_iterations = 100'000'000;          // of one call, all loops together
  std::uint64_t fold_bytes = std::uint64_t{512} << 20;  // of a constant computed while loading
  std::uint64_t einsum_points = std::uint64_t{1} << 40;
  std::uint64_t manifest_bytes = std::uint64_t{64} << 20;
  bool allow_symlinks = false;
  bool allow_hard_links = false;
};

// Set from another thread to stop the running call with Error(cancelled).
using CancelFlag = std::atomic<bool>;

}  // namespace ondine
