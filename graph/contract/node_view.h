// NodeView: typed access to a node's attributes; base class of all contexts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/message.h"
#include "graph/ir/graph.h"

namespace ondine::graph {

class NodeView {
 public:
  explicit NodeView(const Node& node) : node_(&node) {}

  const Node& node() const noexcept { return *node_; }
  std::int64_t version() const noexcept { return node_->version; }

  std::size_t input_count() const noexcept { return node_->inputs.size(); }
  std::size_t output_count() const noexcept { return node_->outputs.size(); }
  bool has_input(std::size_t i) const noexcept {
    return i < node_->inputs.size() && node_->inputs[i] != no_value;
  }
  bool has_output(std::size_t i) const noexcept {
    return i < node_->outputs.size() && node_->outputs[i] != no_value;
  }

  bool has_attr(std::string_view name) const noexcept {
    return find(node_->attributes, name) != nullptr;
  }
  // The attribute, or `otherwise` when absent. Throws Error(invalid_model) for another type.
  std::int64_t attr_int(std::string_view name, std::int64_t otherwise) const;
  float attr_float(std::string_view name, float otherwise) const;
  std::string attr_string(std::string_view name, std::string otherwise) const;
  std::vector<std::int64_t> attr_ints(std::string_view name,
                                      std::vector<std::int64_t> otherwise = {}) const;
  std::vector<float> attr_floats(std::string_view name, std::vector<float> otherwise = {}) const;
  std::vector<std::string> attr_strings(std::string_view name) const;
  // An undefined tensor when absent.
  Tensor attr_tensor(std::string_view name) const;
  // nullptr when absent. T is an alternative of Attribute::Data.
  template <class T>
  const T* attr(std::string_view name) const;

  // Index in node().subgraphs. Throws Error(invalid_model) when the attribute holds no graph.
  std::size_t subgraph_index(std::string_view attribute) const;

  // Resolves an axis that may count from the end. Throws Error(mismatch) outside [-rank, rank).
  static std::size_t normalize_axis(std::int64_t axis, std::size_t rank);

 protected:
  const Node* node_;
};

template <class T>
const T* NodeView::attr(std::string_view name) const {
  const Attribute* attribute = find(node_->attributes, name);
  if (attribute == nullptr) return nullptr;
  const T* value = std::get_if<T>(&attribute->data);
  if (value == nullptr) {
    fail(ErrorCode::invalid_model, "attribute ", quoted(name), " must not be of type ",
         to_string(attribute->kind));
  }
  return value;
}

}  // namespace ondine::graph
