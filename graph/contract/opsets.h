// Opsets: the operator sets that a model or function imports.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/document.h"

namespace ondine::graph {

// The domain of Gradient, Adam, Adagrad and Momentum.
inline constexpr const char* training_domain = "ai.onnx.preview.training";

class Opsets {
 public:
  Opsets() = default;
  // The highest version of duplicate domains counts.
  explicit Opsets(const std::vector<OpsetImport>& imports);

  // nullopt when the domain is not imported. "ai.onnx" and "" are the same domain.
  std::optional<std::int64_t> version(std::string_view domain) const;

 private:
  std::map<std::string, std::int64_t, std::less<>> versions_;
};

}  // namespace ondine::graph
