// The adapters of a model, one entry of its metadata. docs/adapters.md describes it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/ir/document.h"

namespace ondine::graph {

// y = product + scale (x a) b, with the product of a node MatMul or Gemm.
struct Adapter {
  std::string module;  // of PyTorch, where the file tells; else the name of the weight
  std::string weight;  // the factor of the node
  std::string a;       // [in, rank]
  std::string b;       // [rank, out]
  double scale = 1;
  // What a b is multiplied by where the weight takes it up: the scale over the factor of the Gemm.
  double merged_scale = 1;
  bool transposed = false;  // the node multiplies by the transposed weight
};

struct Adapters {
  std::int64_t rank = 0;
  double alpha = 0;
  double dropout = 0;
  bool rank_stabilized = false;
  std::vector<Adapter> layers;
};

inline constexpr const char* adapters_key = "ondine.adapters";

// Without layers where the model has no adapters. Error(corrupt) for an entry that is none.
Adapters read_adapters(const Properties& metadata);
// Removes the entry where there are no layers.
void write_adapters(Properties& metadata, const Adapters& adapters);

}  // namespace ondine::graph
