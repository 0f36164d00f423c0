// FunctionTable: a model's functions by name. A function takes precedence over an operator of the
// same name.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/ir/document.h"

namespace ondine::graph {

// The functions must outlive it.
class FunctionTable {
 public:
  // The first of duplicate functions counts.
  explicit FunctionTable(const std::vector<FunctionDef>& functions);

  // Index of the function that the node calls; nullopt when it calls none.
  std::optional<std::size_t> find(const NodeDef& node) const;
  const FunctionDef& operator[](std::size_t index) const { return (*functions_)[index]; }
  std::size_t size() const noexcept { return functions_->size(); }

 private:
  using Key = std::tuple<std::string_view, std::string_view, std::string_view>;

  const std::vector<FunctionDef>* functions_;
  std::map<Key, std::size_t> by_name_;  // domain, name, overload
};

}  // namespace ondine::graph
