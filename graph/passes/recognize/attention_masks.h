// A part of recognize_attention: what is added to scores, as operands of ScaledAttention.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/passes/fuse.h"

namespace ondine::graph {

// The masks of an attention, and what an element of the second that is not 0 replaces.
struct MaskOperands {
  ValueId mask = no_value;
  ValueId more = no_value;
  std::string replaces;
};

// Reads the terms that are added to scores of some dims. A sum as large as the scores whose terms
// are smaller is left to the operator, so that it is in no plan.
class MaskReader {
 public:
  // `known_keys`: whether the product with v only takes scores of so many keys.
  MaskReader(Graph& graph, const Catalogue& catalogue, const Uses& uses, const Type& product,
             const Dims& scores, bool known_keys)
      : graph_(graph),
        catalogue_(catalogue),
        uses_(uses),
        dtype_(product.dtype),
        scores_(scores),
        known_keys_(known_keys) {}

  // `terms`: at most two. `fill`: null, or a Where of a number and the product, or if it is
  // `outside` of their sum.
  std::optional<MaskOperands> read(std::vector<ValueId> terms, const Node* fill, bool outside,
                                   std::vector<Node>& before) const;

 private:
  bool fits(ValueId mask, DType dtype) const;
  bool covers(const Dims& mask) const;
  bool covers(ValueId mask) const { return covers(*graph_[mask].type.dims); }
  ValueId without_expand(ValueId mask) const;
  ValueId sum_of(ValueId a, ValueId b, std::vector<Node>& before) const;
  ValueId fill_of(const Node& choice, std::size_t number, std::vector<Node>& before) const;
  std::optional<MaskOperands> parts_of_sum(ValueId mask) const;
  std::optional<MaskOperands> parts_of_choice(ValueId mask, std::vector<Node>& before) const;

  Graph& graph_;
  const Catalogue& catalogue_;
  const Uses& uses_;
  DType dtype_;
  const Dims& scores_;
  bool known_keys_;
};

// Which input of a Where is a number that is not 0; nothing where none is, or both are.
std::optional<std::size_t> filled_input(const Node& choice, const Uses& uses);

}  // namespace ondine::graph
