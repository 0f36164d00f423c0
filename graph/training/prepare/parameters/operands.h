// Which tensors nodes read where layers have their parameters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "graph/ir/document.h"
#include "graph/training/prepare/uses.h"

namespace ondine::graph {

enum class LayerUse : std::uint8_t {
  none,
  term,     // of an Add or Sub to what a layer with a weight gives, along one dim
  operand,  // an input that an operator has for parameters
};

class Operands {
 public:
  explicit Operands(const GraphDef& graph);

  // How layers read the tensor: the strongest of its uses, looking through operators for which
  // only_moves() is true.
  LayerUse of(std::string_view name, const Tensor& tensor) const;
  // Whether every reader computes with one element as code does with a number: the other case of a
  // Where, a bound, a factor, a term. False for the bias of a layer, and where a reader is unknown.
  bool is_number(std::string_view name) const;
  const DocumentUses& uses() const noexcept { return uses_; }

 private:
  // Result of a layer with a weight, by the axis of its features.
  enum class Product : std::uint8_t { last, other };

  void collect(const GraphDef& graph);
  void note(const NodeDef& node);
  bool is_constant(const NodeDef& node, std::size_t input) const;
  bool has_weight(const NodeDef& node) const;
  bool is_operand(const Use& use) const;
  bool is_term(const Use& use, const Tensor& tensor) const;

  DocumentUses uses_;
  std::unordered_set<std::string_view> constants_;  // values that depend on no input
  std::unordered_map<std::string_view, Product> products_;
};

}  // namespace ondine::graph
