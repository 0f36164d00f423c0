// The layers of a network that can have adapters.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/training/adapters/record.h"
#include "graph/training/prepare/parameters/initializers.h"
#include "graph/training/prepare/parameters/modules.h"
#include "graph/training/prepare/values.h"

namespace ondine::graph {

// A node of the main graph whose weight is of floating point, or in blocks of MatMulNBits, and
// depends on constants alone.
struct AdapterLayer {
  LayerForm form = LayerForm::linear;
  std::string module;
  std::string weight;
  std::size_t data = 0;  // which input of the node depends on the data
  std::string bias;      // a third input; of a Gemm it counts `bias_factor` times
  double bias_factor = 1;
  std::int64_t in = 0;        // what an output sums over; rows of a table
  std::int64_t out = 0;       // outputs of the layer
  std::int64_t channels = 0;  // its inputs; for convolutions without their window
  Shape shape;                // of the weight; empty for blocks
  DType dtype = DType::float32;
  double factor = 1;        // of the product
  bool transposed = false;  // the weight has a row for each output
  bool is_last = false;     // an output of the model is its result, but for what is added
};

// A bias that an Add after the layer has.
struct AddedBias {
  std::size_t node = 0;
  std::string name;
};

// Valid while the graph keeps its nodes and initializers.
class LayerFinder {
 public:
  // With values `of`, only layers that lead to one of them are found.
  LayerFinder(const GraphDef& graph, const ValueTypes& types, std::span<const std::string> of = {});

  std::optional<AdapterLayer> find(const NodeDef& node) const;
  // The bias that an Add of the same module adds to the node's result, if nothing else reads the
  // result.
  std::optional<AddedBias> added_bias(const NodeDef& node, const AdapterLayer& layer) const;
  // Whether several nodes read the value, or the table whose transposition it is, as that of an
  // embedding which is the head as well.
  bool is_shared(const std::string& name) const;
  // The tensor of a weight that is stored as floating point; nullptr for others.
  const Tensor* stored(const std::string& name) const;

 private:
  bool find_product(const NodeDef& node, AdapterLayer& layer) const;
  bool find_blocks(const NodeDef& node, AdapterLayer& layer) const;
  bool find_convolution(const NodeDef& node, AdapterLayer& layer) const;
  bool find_table(const NodeDef& node, AdapterLayer& layer) const;
  bool is_constant(const NodeDef& node, std::size_t input) const;
  bool set_type(const std::string& weight, AdapterLayer& layer) const;
  std::string module_of_layer(const NodeDef& node, const std::string& weight) const;

  const GraphDef* graph_;
  InitializerIndex initializers_;
  Modules modules_;
  ValueTypes types_;
  std::unordered_set<std::string> constants_;
  std::unordered_map<std::string, std::string> turned_from_;
  std::unordered_set<std::string> results_;
  std::unordered_set<std::string> leading_;  // values that lead to those asked for; empty: all do
  std::unordered_map<std::string, std::vector<std::size_t>> readers_;
};

}  // namespace ondine::graph
