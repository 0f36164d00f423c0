#include "graph/training/prepare/inline_call.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "graph/training/prepare/renaming.h"

namespace ondine::graph {
namespace {

using Subgraph = std::shared_ptr<const GraphDef>;

class Inliner {
 public:
  Inliner(const NodeDef& call, const FunctionDef& function, Names& names)
      : call_(&call), function_(&function), names_(&names) {}

  std::vector<NodeDef> nodes() {
    std::vector<NodeDef> result;
    std::vector<NodeDef> after;
    for (std::size_t i = 0; i < function_->inputs.size(); ++i) {
      const bool given = i < call_->inputs.size();
      new_names_[function_->inputs[i]] = given ? call_->inputs[i] : std::string();
    }
    for (std::size_t i = 0; i < function_->outputs.size() && i < call_->outputs.size(); ++i) {
      if (call_->outputs[i].empty()) continue;
      const auto [known, fresh] = new_names_.try_emplace(function_->outputs[i], call_->outputs[i]);
      if (fresh) continue;
      // An output that is an input, or one that the function lists twice.
      NodeDef& copy = after.emplace_back();
      copy.op = "Identity";
      copy.inputs = {known->second};
      copy.outputs = {call_->outputs[i]};
    }
    for (const NodeDef& node : function_->nodes) result.push_back(adapted(node));
    std::move(after.begin(), after.end(), std::back_inserter(result));
    return result;
  }

 private:
  std::string made(const std::string& name) {
    if (name.empty()) return name;
    const auto [known, fresh] = new_names_.try_emplace(name);
    if (fresh) known->second = names_->fresh(call_->outputs.front() + "." + name);
    return known->second;
  }

  NodeDef adapted(NodeDef node) {
    if (!node.name.empty()) node.name = names_->fresh(node.name);
    for (std::string& input : node.inputs) input = renamed(new_names_, input);
    for (std::string& output : node.outputs) output = made(output);
    node.attributes = adapted(node.attributes);
    return node;
  }

  Attributes adapted(const Attributes& attributes) {
    Attributes result;
    for (const Attribute& one : attributes) {
      const Attribute* source = one.ref->empty() ? &one : given(*one.ref);
      if (source == nullptr) continue;  // the operator's default holds
      Attribute& copy = result.emplace_back(*source);
      copy.name = one.name;
      copy.ref = Boxed<std::string>();
      if (source != &one) continue;  // subgraphs of the call are its own
      if (auto* body = std::get_if<Subgraph>(&copy.data)) {
        *body = adapted(**body);
      } else if (auto* bodies = std::get_if<std::vector<Subgraph>>(&copy.data)) {
        for (Subgraph& each : *bodies) each = adapted(*each);
      }
    }
    return result;
  }

  Subgraph adapted(const GraphDef& body) {
    GraphDef result = body;
    const auto rename = [this](auto& list) {
      for (auto& one : list) one.name = made(one.name);
    };
    rename(result.inputs);
    rename(result.initializers);
    rename(result.sparse_initializers);
    for (NodeDef& node : result.nodes) node = adapted(std::move(node));
    for (auto* list : {&result.outputs, &result.value_infos}) {
      for (ValueDef& one : *list) one.name = renamed(new_names_, one.name);
    }
    return std::make_shared<const GraphDef>(std::move(result));
  }

  const Attribute* given(const std::string& name) const {
    const Attribute* found = find(call_->attributes, name);
    return found == nullptr ? find(function_->defaults, name) : found;
  }

  const NodeDef* call_;
  const FunctionDef* function_;
  Names* names_;
  Renaming new_names_;
};

}  // namespace

const FunctionDef* called_function(std::span<const FunctionDef> functions, const NodeDef& node) {
  const auto found = std::find_if(functions.begin(), functions.end(), [&](const auto& one) {
    return one.name == node.op && one.domain == node.domain && one.overload == *node.overload;
  });
  return found == functions.end() ? nullptr : &*found;
}

bool has_opsets_of(const FunctionDef& function, const ModelDef& model) {
  return std::all_of(function.opsets.begin(), function.opsets.end(), [&](const auto& one) {
    const auto same = std::find_if(model.opsets.begin(), model.opsets.end(),
                                   [&](const auto& other) { return other.domain == one.domain; });
    return same != model.opsets.end() && same->version == one.version;
  });
}

void inline_call(std::vector<NodeDef>& nodes, std::size_t at, const FunctionDef& function,
                 Names& names) {
  std::vector<NodeDef> body = Inliner(nodes[at], function, names).nodes();
  const auto place = nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(at));
  nodes.insert(place, std::make_move_iterator(body.begin()), std::make_move_iterator(body.end()));
}

}  // namespace ondine::graph
