// Gradient nodes: the tensors that their attributes name.
#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "core/stop.h"
#include "graph/check/rules.h"
#include "graph/ir/walk.h"

namespace ondine::graph {
namespace {

// Bounds the search for dependences between the xs, over all Gradient nodes of a model.
constexpr std::uint64_t max_steps = 20'000'000;

const std::vector<std::string>& names(const NodeDef& node, std::string_view attribute) {
  static const std::vector<std::string> none;
  const Attribute* found = find(node.attributes, attribute);
  const auto* list = found ? std::get_if<std::vector<std::string>>(&found->data) : nullptr;
  return list == nullptr ? none : *list;
}

// Appends the names that a subgraph reads from outside.
void add_free_names(const GraphDef& subgraph, std::vector<std::string_view>& out,
                    std::uint64_t& steps) {
  std::unordered_set<std::string_view> inner;
  for (const auto& input : subgraph.inputs) inner.insert(input.name);
  for (const auto& initializer : subgraph.initializers) inner.insert(initializer.name);
  for (const auto& sparse : subgraph.sparse_initializers) inner.insert(sparse.name);
  std::vector<std::string_view> read;
  for (const auto& node : subgraph.nodes) {
    read.insert(read.end(), node.inputs.begin(), node.inputs.end());
    for_each_subgraph(node, [&](const Attribute&, const GraphDef& deeper) {
      add_free_names(deeper, read, steps);
    });
    for (const auto& output : node.outputs) inner.insert(output);
  }
  for (const auto& output : subgraph.outputs) read.push_back(output.name);
  steps += subgraph.nodes.size() + inner.size() + read.size();
  for (const auto name : read) {
    if (!inner.contains(name)) out.push_back(name);
  }
}

// Appends the names on which output `name` of a node depends.
void add_names_before(const NodeDef& node, std::string_view name, CheckContext& context,
                      std::vector<std::string_view>& out);

// The inputs of a function on which its output `name` depends.
const std::vector<std::size_t>& inputs_behind(std::size_t function, std::string_view name,
                                              CheckContext& context) {
  const auto [entry, is_new] = context.function_flow.try_emplace({function, name});
  if (!is_new) return entry->second;  // also of a function that calls itself, an error of its own
  const FunctionDef& def = context.functions[function];
  std::unordered_map<std::string_view, const NodeDef*> makers;
  for (const auto& node : def.nodes) {
    for (const auto& output : node.outputs) makers.emplace(output, &node);
  }
  std::unordered_set<std::string_view> visited{name};
  std::vector<std::string_view> pending{name};
  while (!pending.empty() && context.gradient_steps <= max_steps) {
    const std::string_view one = pending.back();
    pending.pop_back();
    const auto maker = makers.find(one);
    if (maker == makers.end()) continue;
    std::vector<std::string_view> before;
    add_names_before(*maker->second, one, context, before);
    for (const auto input : before) {
      if (visited.insert(input).second) pending.push_back(input);
    }
  }
  std::vector<std::size_t> inputs;
  for (std::size_t i = 0; i < def.inputs.size(); ++i) {
    if (visited.contains(def.inputs[i])) inputs.push_back(i);
  }
  return context.function_flow[{function, name}] = std::move(inputs);
}

void add_names_before(const NodeDef& node, std::string_view name, CheckContext& context,
                      std::vector<std::string_view>& out) {
  const std::size_t before = out.size();
  if (const auto called = context.functions.find(node)) {
    const FunctionDef& function = context.functions[*called];
    const auto at = std::find(node.outputs.begin(), node.outputs.end(), name);
    const auto index = static_cast<std::size_t>(at - node.outputs.begin());
    if (index < function.outputs.size()) {
      for (const std::size_t i : inputs_behind(*called, function.outputs[index], context)) {
        if (i < node.inputs.size()) out.push_back(node.inputs[i]);
      }
    }
  } else {
    out.insert(out.end(), node.inputs.begin(), node.inputs.end());
    for_each_subgraph(node, [&](const Attribute&, const GraphDef& subgraph) {
      add_free_names(subgraph, out, context.gradient_steps);
    });
  }
  context.gradient_steps += out.size() - before + 1;
  checkpoint(64 * static_cast<std::int64_t>(out.size() - before + 1));
}

class GradientCheck {
 public:
  GradientCheck(const NodeDef& node, const Scope& scope, const Site& site)
      : node_(node), scope_(scope), site_(site), xs_(names(node, "xs")), zs_(names(node, "zs")) {}

  void run() {
    check_counts();
    for (const auto& x : xs_) check_x(x);
    for (const auto& z : zs_) {
      if (xs_set_.contains(z)) {
        site_.reject(node_, "names ", quoted(z), " in both xs and zs");
      }
      check_visible("zs", z);
    }
    const Attribute* y = find(node_.attributes, "y");
    const auto* name = y ? std::get_if<std::string>(&y->data) : nullptr;
    if (name != nullptr) check_visible("y", *name);
    check_independent();
  }

 private:
  void check_counts() const {
    const std::size_t wanted = xs_.size() + zs_.size();
    if (xs_.empty()) site_.reject(node_, "names no tensor in xs");
    if (node_.inputs.size() != wanted) {
      site_.reject(node_, "has ", node_.inputs.size(), " inputs for ", xs_.size(), " xs and ",
                   zs_.size(), " zs");
    }
    if (node_.outputs.size() > xs_.size()) {
      site_.reject(node_, "has ", node_.outputs.size(), " outputs for ", xs_.size(), " xs");
    }
  }

  const Scope::Definition* check_visible(std::string_view attribute,
                                         const std::string& name) const {
    const auto* found = name.empty() ? nullptr : scope_.find(name);
    if (found == nullptr) {
      site_.reject(node_, "names ", quoted(name), " in ", attribute,
                   ", which is not defined before the node");
    }
    return found;
  }

  void check_x(const std::string& name) {
    if (!xs_set_.insert(name).second) {
      site_.reject(node_, "names ", quoted(name), " twice in xs");
    }
    const auto* found = check_visible("xs", name);
    if (found == nullptr) return;
    DType dtype = DType::undefined;
    if (found->input != nullptr) dtype = found->input->type.dtype;
    if (found->initializer != nullptr) dtype = found->initializer->dtype();
    if (found->sparse != nullptr) dtype = found->sparse->values.dtype();
    if (dtype != DType::undefined && !is_differentiable(dtype)) {
      site_.reject(node_, "names ", quoted(name), " in xs, whose elements are ", dtype,
                   ", not floating point numbers");
    }
  }

  // "Variables that can be generated from inputs cannot be included": no tensor that is
  // differentiated or held lies behind another one.
  void check_independent() {
    check_before("xs", xs_);
    check_before("zs", zs_);
  }

  // Goes back from all of `roots` at once; none of the tensors that the node names may be found.
  void check_before(std::string_view attribute, const std::vector<std::string>& roots) {
    std::unordered_map<std::string_view, std::string_view> origin;  // visited name -> one of roots
    std::vector<std::string_view> pending;
    std::unordered_set<const NodeDef*> done;
    std::uint64_t& steps = site_.context.gradient_steps;
    const std::uint32_t first = first_read();
    const auto expand = [&](std::string_view name, std::string_view from) {
      const auto* found = scope_.find(name);
      if (found == nullptr || found->node == nullptr || steps > max_steps) return;
      if (found->made < first) return;  // nothing named was read before
      const bool calls = site_.context.functions.find(*found->node).has_value();
      if (!calls && !done.insert(found->node).second) return;
      std::vector<std::string_view> before;
      add_names_before(*found->node, name, site_.context, before);
      for (const auto input : before) {
        if (origin.emplace(input, from).second) pending.push_back(input);
      }
    };
    for (const auto& root : roots) expand(root, root);
    while (!pending.empty()) {
      const auto name = pending.back();
      pending.pop_back();
      expand(name, origin.at(name));
    }
    if (steps > max_steps) {
      site_.add(ErrorCode::limit, describe(node_),
                " names tensors that depend on too many values to check");
    }
    for (const auto* list : {&xs_, &zs_}) {
      for (const auto& other : *list) {
        const auto found = origin.find(other);
        if (found == origin.end()) continue;
        site_.reject(node_, "names ", quoted(std::string(found->second)), " in ", attribute,
                     ", which depends on ", quoted(other),
                     list != &roots      ? list == &xs_ ? " in xs" : " in zs"
                     : attribute == "xs" ? ", another x"
                                         : ", another z");
      }
    }
  }

  // The first node that reads a tensor that this one names.
  std::uint32_t first_read() const {
    std::uint32_t first = std::numeric_limits<std::uint32_t>::max();
    for (const auto* list : {&xs_, &zs_}) {
      for (const auto& name : *list) {
        if (const auto* found = scope_.find(name)) first = std::min(first, found->first_read);
      }
    }
    return first;
  }

  const NodeDef& node_;
  const Scope& scope_;
  const Site& site_;
  const std::vector<std::string>& xs_;
  const std::vector<std::string>& zs_;
  std::unordered_set<std::string_view> xs_set_;
};

}  // namespace

void check_gradient(const NodeDef& node, const Scope& scope, const Site& site) {
  if (node.domain != "ai.onnx.preview.training" || node.op != "Gradient") return;
  // Attributes supplied by the caller of a function are checked after inlining.
  for (const auto& attribute : node.attributes) {
    if (!attribute.ref->empty()) return;
  }
  GradientCheck(node, scope, site).run();
}

}  // namespace ondine::graph
