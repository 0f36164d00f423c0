#include "graph/resolve/scope.h"

#include "core/message.h"

namespace ondine::graph {

void NameScope::define(const std::string& name, ValueId id) {
  if (!names_.emplace(name, id).second) {
    fail(ErrorCode::invalid_model, "value ", quoted(name), " is defined twice");
  }
}

ValueId NameScope::find(const std::string& name) {
  const auto own = names_.find(name);
  if (own != names_.end()) return own->second;
  if (parent_ == nullptr) return no_value;
  const ValueId outer = parent_->find(name);
  if (outer == no_value) return no_value;
  const GraphValue& captured = parent_->graph()[outer];
  const ValueId inner = graph_->add_temporary(captured.name, captured.type);
  (*graph_)[inner].constant = captured.constant;
  (*graph_)[inner].known_dims = captured.known_dims;
  graph_->inputs.push_back(inner);
  captures_.push_back(outer);
  names_.emplace(name, inner);
  return inner;
}

ValueId NameScope::get(const std::string& name) {
  const ValueId id = find(name);
  if (id == no_value) {
    fail(ErrorCode::invalid_model, "value ", quoted(name), " is not defined before it is used");
  }
  return id;
}

ValueId NameScope::get_argument(const std::string& name) {
  const auto own = names_.find(name);
  if (own != names_.end() && own->second == no_value) return no_value;
  return get(name);
}

}  // namespace ondine::graph
