// The adapters of a model, one entry of its metadata. docs/adapters.md describes it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ondine/adapters.h>

#include "graph/ir/document.h"

namespace ondine::graph {

enum class LayerForm : std::uint8_t { linear, convolution, embedding };

// The nodes of an adapter make `output` of what the model without it has as `base`. Names are
// empty where the kind has no such part.
struct Adapter {
  AdapterKind kind = AdapterKind::lora;
  LayerForm form = LayerForm::linear;
  std::string module;  // of PyTorch, where the file tells; else the name of the weight
  std::string weight;  // the factor of the node
  std::string base;
  std::string output;
  std::string a;           // linear, embedding: [in, rank]; convolution: [rank, in, window...]
  std::string b;           // linear, embedding: [rank, out]; convolution: [out, rank, 1...]
  std::string magnitude;   // of DoRA, [out]
  std::string factor;      // of (IA)3, along the last dim, or that of channels
  std::string bias;        // multiplied by the factor too
  std::string prompt;      // [tokens, dims]
  bool of_inputs = false;  // the factor stands before the layer
  double scale = 1;
  // Factor of the product a b when it is merged into the weight: the scale over the factor of the
  // Gemm.
  double merged_scale = 1;
  bool transposed = false;  // the weight has a row for each output
};

struct Adapters {
  std::int64_t rank = 0;
  double alpha = 0;
  double dropout = 0;
  bool rank_stabilized = false;
  bool dora = false;
  bool pissa = false;
  std::vector<Adapter> layers;
};

inline constexpr const char* adapters_key = "ondine.adapters";

// Without layers where the model has no adapters. Error(corrupt) for an entry that is none.
Adapters read_adapters(const Properties& metadata);
// Removes the entry where there are no layers.
void write_adapters(Properties& metadata, const Adapters& adapters);

}  // namespace ondine::graph
