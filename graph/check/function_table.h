// The functions of a model by name. A function comes before an operator of the same name.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/ir/document.h"

namespace ondine::graph {

// Refers to the functions, which outlive it.
class FunctionTable {
 public:
  // Of two functions of one name the first counts.
  explicit FunctionTable(const std::vector<FunctionDef>& functions);

  // The index of the function that the node calls; nothing when it calls none.
  std::optional<std::size_t> find(const NodeDef& node) const;
  const FunctionDef& operator[](std::size_t index) const { return (*functions_)[index]; }
  std::size_t size() const noexcept { return functions_->size(); }

 private:
  using Key = std::tuple<std::string_view, std::string_view, std::string_view>;

  const std::vector<FunctionDef>* functions_;
  std::map<Key, std::size_t> by_name_;  // domain, name, overload
};

}  // namespace ondine::graph
