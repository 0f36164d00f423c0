// Operators that a model asks for and nobody has.
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
  // `function`: the index of the function whose body asks, nothing for a graph of the model.
  // `user`: who asks, for the message; only the first one of an operator is kept.
  void add(std::optional<std::size_t> function, std::string_view domain, std::string_view name,
           std::int64_t version, const std::string& user);
  // One finding that names them all, but for those of functions that are not `called`.
  void report(const std::vector<bool>& called, Findings& findings) const;

 private:
  using Operator = std::tuple<std::string, std::string, std::int64_t>;  // domain, name, version
  std::map<std::pair<std::int64_t, Operator>, std::string> users_;      // -1: the model
};

}  // namespace ondine::graph
