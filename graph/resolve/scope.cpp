#include "graph/resolve/scope.h"

#include "core/message.h"

namespace ondine::graph {

void NameScope::define(const std::string& name, ValueId id) {
  const auto [own, is_new] = names_.add(name);
  if (!is_new) fail(ErrorCode::invalid_model, "value ", quoted(name), " is defined twice");
  *own = id;
}

ValueId NameScope::find(const std::string& name) {
  if (const ValueId* own = names_.find(name)) return *own;
  if (parent_ == nullptr) return no_value;
  const ValueId outer = parent_->find(name);
  if (outer == no_value) return no_value;
  const GraphValue& captured = parent_->graph()[outer];
  const ValueId inner = graph_->add_temporary(captured.name, captured.type);
  (*graph_)[inner].constant = captured.constant;
  (*graph_)[inner].known_dims = captured.known_dims;
  graph_->inputs.push_back(inner);
  captures_.push_back(outer);
  *names_.add(captured_names_.emplace_front(name)).first = inner;
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
  const ValueId* own = names_.find(name);
  if (own != nullptr && *own == no_value) return no_value;
  return get(name);
}

}  // namespace ondine::graph
