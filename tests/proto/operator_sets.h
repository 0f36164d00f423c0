// Operator-set documents written by hand.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/proto/wire.h"

namespace ondine::test {

using Names = std::vector<std::string>;
using Imports = std::vector<std::pair<std::string, std::uint64_t>>;

inline Wire wire_node(const std::string& op, const Names& inputs, const Names& outputs,
                      const std::string& domain = {}) {
  Wire node;
  for (const std::string& input : inputs) node.block(1, input);
  for (const std::string& output : outputs) node.block(2, output);
  node.block(4, op);
  if (!domain.empty()) node.block(7, domain);
  return node;
}

inline Wire wire_function(const std::string& name, const std::string& domain, const Names& inputs,
                          const Names& outputs, const std::vector<Wire>& nodes,
                          const Imports& imports = {{"", 18}}) {
  Wire function = Wire().block(1, name);
  for (const std::string& input : inputs) function.block(4, input);
  for (const std::string& output : outputs) function.block(5, output);
  for (const Wire& node : nodes) function.message(7, node);
  for (const auto& [imported, version] : imports) {
    function.message(9, Wire().block(1, imported).number(2, version));
  }
  return function.block(10, domain);
}

inline Wire wire_operator(const std::string& name, std::uint64_t since_version) {
  return Wire().block(1, name).number(2, since_version).number(3, 1);
}

inline Wire wire_set(const std::string& domain, std::uint64_t version,
                     const std::vector<Wire>& functions, const std::vector<Wire>& operators = {}) {
  Wire set = Wire().block(1, "ONNXOPSET").number(2, 10).block(4, domain).number(5, version);
  for (const Wire& one : operators) set.message(8, one);
  for (const Wire& one : functions) set.message(9, one);
  return set;
}

// twice(x) = x + x, quadruple(x) = twice(twice(x)) and scaled(x) = factor * x with factor 3 by
// default, of version 3 of org.example.
inline Wire sample_set() {
  const std::string domain = "org.example";
  const Wire factor = Wire().block(1, "value_float").block(21, "factor").number(20, 1);
  Wire scaled = wire_function(
      "scaled", domain, {"x"}, {"y"},
      {wire_node("Constant", {}, {"f"}).message(5, factor), wire_node("Mul", {"x", "f"}, {"y"})});
  scaled.message(11, Wire().block(1, "factor").fixed32(2, 3).number(20, 1));
  return wire_set(
      domain, 3,
      {wire_function("twice", domain, {"x"}, {"y"}, {wire_node("Add", {"x", "x"}, {"y"})}),
       wire_function(
           "quadruple", domain, {"x"}, {"y"},
           {wire_node("twice", {"x"}, {"t"}, domain), wire_node("twice", {"t"}, {"y"}, domain)},
           {{"", 18}, {domain, 3}}),
       scaled});
}

}  // namespace ondine::test
