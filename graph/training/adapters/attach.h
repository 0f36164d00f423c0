// Low-rank adapters beside the linear layers of a network (Hu et al. 2021, LoRA).
#pragma once

#include <string>
#include <vector>

#include <ondine/prepare.h>

#include "graph/ir/document.h"
#include "graph/training/prepare/values.h"

namespace ondine::graph {

struct AttachedAdapters {
  std::vector<std::string> drawn;  // the matrices a; b starts with zeros
  std::vector<std::string> trained;
  std::vector<std::string> notes;
};

// Writes y = x w + scale (x a) b for each chosen linear layer y = x w of the main graph, by
// standard operators, and the record. Linear layers are MatMul nodes and Gemm nodes without transA
// whose second factor is a floating point matrix that is computed from constants. Error(mismatch)
// for settings out of range, a pattern that matches no such layer and a weight that several nodes
// read.
AttachedAdapters attach_adapters(ModelDef& model, const Lora& lora, const ValueTypes& types);

}  // namespace ondine::graph
