// Catalogue: the set of known operators.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "graph/contract/op_def.h"

namespace ondine::graph {

// Immutable. The OpDefs must outlive it.
class Catalogue {
 public:
  explicit Catalogue(std::span<const OpDef* const> operators);
  // nullptr when unknown. `domain` is "" for ai.onnx.
  const OpDef* find(std::string_view domain, std::string_view name) const;
  std::span<const OpDef* const> all() const noexcept { return operators_; }

 private:
  std::vector<const OpDef*> operators_;  // by domain, then name
};

// The domain of the operators that the library adds for derivatives and fusion.
inline constexpr std::string_view ondine_domain = "ai.ondine";

}  // namespace ondine::graph
