#include "graph/contract/node_view.h"

namespace ondine::graph {

std::int64_t NodeView::attr_int(std::string_view name, std::int64_t otherwise) const {
  const auto* value = attr<std::int64_t>(name);
  return value != nullptr ? *value : otherwise;
}

float NodeView::attr_float(std::string_view name, float otherwise) const {
  const auto* value = attr<float>(name);
  return value != nullptr ? *value : otherwise;
}

std::string NodeView::attr_string(std::string_view name, std::string otherwise) const {
  const auto* value = attr<std::string>(name);
  return value != nullptr ? *value : std::move(otherwise);
}

std::vector<std::int64_t> NodeView::attr_ints(std::string_view name,
                                              std::vector<std::int64_t> otherwise) const {
  const auto* value = attr<std::vector<std::int64_t>>(name);
  return value != nullptr ? *value : std::move(otherwise);
}

std::vector<float> NodeView::attr_floats(std::string_view name,
                                         std::vector<float> otherwise) const {
  const auto* value = attr<std::vector<float>>(name);
  return value != nullptr ? *value : std::move(otherwise);
}

std::vector<std::string> NodeView::attr_strings(std::string_view name) const {
  const auto* value = attr<std::vector<std::string>>(name);
  return value != nullptr ? *value : std::vector<std::string>{};
}

Tensor NodeView::attr_tensor(std::string_view name) const {
  const auto* value = attr<Boxed<Tensor>>(name);
  return value != nullptr ? **value : Tensor{};
}

std::size_t NodeView::subgraph_index(std::string_view attribute) const {
  for (std::size_t i = 0; i < node_->subgraphs.size(); ++i) {
    if (node_->subgraphs[i].attribute == attribute) return i;
  }
  fail(ErrorCode::invalid_model, "attribute ", quoted(attribute), " must hold a graph");
}

std::size_t NodeView::normalize_axis(std::int64_t axis, std::size_t rank) {
  const auto n = static_cast<std::int64_t>(rank);
  if (axis < -n || axis >= n) {
    fail(ErrorCode::mismatch, "axis ", axis, " is outside [", -n, ", ", n - 1, "] for rank ", n);
  }
  return static_cast<std::size_t>(axis < 0 ? axis + n : axis);
}

}  // namespace ondine::graph
