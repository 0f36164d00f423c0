// Collects the operators that a model uses and that are not available.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "graph/check/findings.h"

namespace ondine::graph {

class MissingOperators {
 public:
  // `function`: index of the function that uses the operator, nullopt for a graph of the model.
  // `user`: describes the node, for the message; kept for the first use of an operator only.
  void add(std::optional<std::size_t> function, std::string_view domain, std::string_view name,
           std::int64_t version, const std::string& user);
  // Adds one finding that names all of them, except those used only by functions not `called`.
  void report(const std::vector<bool>& called, Findings& findings) const;

 private:
  using Operator = std::tuple<std::string, std::string, std::int64_t>;  // domain, name, version
  std::map<std::pair<std::int64_t, Operator>, std::string> users_;      // -1: the model
};

}  // namespace ondine::graph
