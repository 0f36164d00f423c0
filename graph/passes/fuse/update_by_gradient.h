// Updates of variables by gradients that are computed part by part
// (kernels/optimizer/update_node.h).
#pragma once

#include <optional>

#include "graph/passes/fuse.h"

namespace ondine::graph {

// Inputs of such a node.
inline constexpr std::size_t decay_of_update = 2, sources_of_update = 3;

// A gradient that nothing else reads, and the operator that updates by it.
struct GradientByParts {
  const OpDef* update = nullptr;
  std::vector<ValueId> sources;
  Attributes attributes;
};

class UpdateFuser {
 public:
  explicit UpdateFuser(const Catalogue& catalogue);

  // The product op(A) op(B), if `id` is one.
  std::optional<GradientByParts> gradient_of(ValueId id, const Uses& uses) const;
  // Makes `node`, an optimizer, an update by its input `gradient`, to which `lookup`, a GatherGrad,
  // adds rows if given. Input `like` has the type of the variable.
  void fuse(Node& node, std::size_t gradient, std::size_t like, GradientByParts by,
            const Node* lookup = nullptr) const;

 private:
  const OpDef* gemm_update_;
};

}  // namespace ondine::graph
