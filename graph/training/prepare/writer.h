// Appending nodes to a graph under preparation.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "graph/contract/opsets.h"
#include "graph/training/prepare/names.h"

namespace ondine::graph {

// Every value is called by its name. Node outputs get fresh names from a hint.
class GraphWriter {
 public:
  GraphWriter(GraphDef& graph, Names& names, std::int64_t opset)
      : graph_(&graph), names_(&names), opset_(opset) {}

  GraphDef& graph() const noexcept { return *graph_; }
  Names& names() const noexcept { return *names_; }
  std::int64_t opset() const noexcept { return opset_; }

  std::string node(const std::string& op, std::vector<std::string> inputs, const std::string& hint,
                   Attributes attributes = {}, const std::string& domain = {});
  // One output for each hint; an empty hint leaves it out.
  std::vector<std::string> nodes(const std::string& op, std::vector<std::string> inputs,
                                 const std::vector<std::string>& hints, Attributes attributes = {},
                                 const std::string& domain = {});
  std::string initializer(const std::string& hint, Tensor value);
  // A rank-0 constant of a floating point type.
  std::string scalar(const std::string& hint, double value, DType dtype);
  std::string cast(const std::string& value, DType to, const std::string& hint);
  void output(const std::string& name, DType dtype, std::optional<std::vector<DimDef>> dims);
  void output(const std::string& name, const Tensor& like);

 private:
  GraphDef* graph_;
  Names* names_;
  std::int64_t opset_;
};

// float16 and bfloat16, in which sums lose too much.
bool is_low_precision(DType dtype) noexcept;
TypeDef tensor_type(DType dtype, std::optional<std::vector<DimDef>> dims);
std::vector<DimDef> to_dim_defs(const Shape& shape);

}  // namespace ondine::graph
