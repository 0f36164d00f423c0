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

  // The gradient of `variable` if it is a product op(A) op(B) or that of a head by its loss, to
  // which `lookup`, a GatherGrad, may add rows.
  std::optional<GradientByParts> gradient_of(ValueId id, ValueId variable, const Node* lookup,
                                             const Uses& uses) const;
  // Makes `node`, an optimizer, an update by its input `gradient`, to which `lookup`, a GatherGrad,
  // adds rows if given. Input `like` has the type of the variable.
  void fuse(Node& node, std::size_t gradient, std::size_t like, GradientByParts by,
            const Node* lookup = nullptr) const;

 private:
  std::optional<GradientByParts> by_product(const Node& product) const;
  std::optional<GradientByParts> by_head(const Node& head, ValueId variable,
                                         const Node* lookup) const;

  const OpDef *gemm_update_, *projected_update_;
};

}  // namespace ondine::graph
