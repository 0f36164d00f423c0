// The names of a graph: definitions, order and shadowing.
#include <algorithm>
#include <unordered_map>

#include "core/stop.h"
#include "graph/check/rules.h"
#include "graph/ir/walk.h"

namespace ondine::graph {
namespace {

constexpr std::int64_t last_ir_with_listed_initializers = 3;
constexpr std::int64_t first_ir_with_ranked_ports = 4;

class GraphCheck {
 public:
  GraphCheck(const GraphDef& graph, GraphRole role, Scope& scope, const Site& site)
      : graph_(graph), role_(role), scope_(scope), site_(site) {}

  void run() {
    if (graph_.name.empty() && !is_default()) {
      reject(role_ == GraphRole::main ? "the main graph" : "a graph", " has no name");
    }
    for (const auto& input : graph_.inputs) define_input(input);
    for (const auto& initializer : graph_.initializers) {
      if (auto* entry = define_initializer(initializer.name)) {
        entry->initializer = &initializer.value;
        compare(initializer.name, initializer.value.dtype(), initializer.value.shape(), *entry);
      }
    }
    for (const auto& sparse : graph_.sparse_initializers) {
      if (auto* entry = define_initializer(sparse.name)) {
        entry->sparse = &sparse;
        compare(sparse.name, sparse.values.dtype(), sparse.dims, *entry);
      }
    }
    if (role_ == GraphRole::subgraph) check_order_of_inputs();
    check_nodes(graph_.nodes, scope_, site_);
    for (const auto& output : graph_.outputs) check_output(output);
    check_value_infos(graph_, role_, scope_, site_);
  }

 private:
  template <class... Parts>
  void reject(const Parts&... parts) const {
    site_.add(ErrorCode::invalid_model, parts...);
  }

  // An empty message says as little as an absent one: "By default, this field is an empty graph".
  bool is_default() const {
    return (role_ == GraphRole::algorithm || role_ == GraphRole::initialization) &&
           graph_.nodes.empty() && graph_.inputs.empty() && graph_.outputs.empty() &&
           graph_.initializers.empty() && graph_.sparse_initializers.empty();
  }

  bool typed() const { return role_ == GraphRole::main || role_ == GraphRole::algorithm; }

  // Models before IR version 4 often omit shapes.
  void check_port(const ValueDef& port, std::string_view what, bool required) const {
    check_declared(port, what, required, site_);
    if (role_ == GraphRole::main && port.type.kind == TypeKind::tensor && !port.type.dims &&
        site_.context.model.ir_version >= first_ir_with_ranked_ports) {
      site_.warn(what, " ", quoted(port.name), " has no shape");
    }
  }

  void define_input(const ValueDef& input) {
    if (input.name.empty()) return reject("a graph input has no name");
    check_port(input, "graph input", typed());
    if (scope_.find_here(input.name) != nullptr) {
      return reject("graph input ", quoted(input.name), " is defined twice");
    }
    if (const auto* other = in_main_graph(input.name)) {
      // Joined with the main graph, an algorithm may list an initializer of that graph as an input.
      const bool joins = other->has_value() && other->input == nullptr;
      if (!joins) reject_repeated("graph input", input.name, *other);
    }
    scope_.define(input.name).input = &input;
  }

  Scope::Definition* define_initializer(const std::string& name) {
    if (name.empty()) {
      reject("an initializer has no name");
      return nullptr;
    }
    if (const auto* other = in_main_graph(name)) {
      const bool joins = other->input != nullptr && !other->has_value();
      if (!joins) reject_repeated("initializer", name, *other);
    }
    auto& entry = scope_.define(name);
    if (entry.has_value()) {
      reject("initializer ", quoted(name), " is defined twice");
      return nullptr;
    }
    if (entry.input != nullptr && role_ == GraphRole::subgraph &&
        site_.context.model.ir_version > last_ir_with_listed_initializers) {
      reject("initializer ", quoted(name), " has the name of an input of a subgraph");
    }
    return &entry;
  }

  // Definition of the name in the main graph that an algorithm is joined to. A nested graph may
  // hide names of the graphs around it: only its node outputs may not.
  const Scope::Definition* in_main_graph(std::string_view name) const {
    return role_ == GraphRole::algorithm ? scope_.outer()->find(name) : nullptr;
  }

  void reject_repeated(std::string_view what, const std::string& name,
                       const Scope::Definition& other) const {
    reject(what, " ", quoted(name), " has the name of ", describe(other), " of the main graph");
  }

  void compare(const std::string& name, DType dtype, const Shape& shape,
               const Scope::Definition& entry) const {
    if (entry.input == nullptr) return;
    if (const auto reason = contradiction(dtype, shape, entry.input->type)) {
      reject("initializer ", quoted(name), " does not match the input of that name: ", *reason);
    }
  }

  // Up to IR version 3 a subgraph lists its initializers as inputs, after those passed to it.
  void check_order_of_inputs() const {
    const std::string* initialized = nullptr;
    for (const auto& input : graph_.inputs) {
      const auto* entry = scope_.find_here(input.name);
      if (entry == nullptr) continue;
      if (entry->has_value()) {
        initialized = &input.name;
      } else if (initialized != nullptr) {
        reject("input ", quoted(input.name), " of a subgraph follows the initializer ",
               quoted(*initialized));
      }
    }
  }

  void check_output(const ValueDef& output) const {
    if (output.name.empty()) return reject("a graph output has no name");
    check_port(output, "graph output", role_ == GraphRole::main);
    if (const auto* found = scope_.find(output.name)) {
      found->first_read = std::min(found->first_read, site_.context.nodes);
    } else {
      reject("graph output ", quoted(output.name), " is not defined");
    }
  }

  const GraphDef& graph_;
  GraphRole role_;
  Scope& scope_;
  const Site& site_;
};

class NodesCheck {
 public:
  NodesCheck(const std::vector<NodeDef>& nodes, Scope& scope, const Site& site)
      : nodes_(nodes), scope_(scope), site_(site) {}

  void run() {
    for (const auto& node : nodes_) {
      checkpoint(1024);
      ++site_.context.nodes;
      for (const auto& input : node.inputs) check_read(node, input);
      check_node(node, scope_, site_);
      for_each_subgraph(node, [&](const Attribute& attribute, const GraphDef& subgraph) {
        const Location location{cat("graph ", quoted(attribute.name), " of ", describe(node)),
                                &site_.location};
        Scope inner(&scope_);
        check_graph(subgraph, GraphRole::subgraph, inner,
                    {site_.context, site_.environment, location});
      });
      for (const auto& output : node.outputs) define(node, output);
    }
  }

 private:
  void check_read(const NodeDef& node, const std::string& name) {
    if (name.empty()) return;
    if (const auto* found = scope_.find(name)) {
      found->first_read = std::min(found->first_read, site_.context.nodes);
      return;
    }
    if (const NodeDef* later = defined_later(name)) {
      site_.reject(node, "reads ", quoted(name), " before ", describe(*later), " defines it");
    } else {
      site_.reject(node, "reads ", quoted(name), ", which is not defined");
    }
  }

  const NodeDef* defined_later(const std::string& name) {
    if (definers_.empty()) {
      for (const auto& node : nodes_) {
        for (const auto& output : node.outputs) definers_.emplace(output, &node);
      }
    }
    const auto found = definers_.find(name);
    return found == definers_.end() ? nullptr : found->second;
  }

  void define(const NodeDef& node, const std::string& name) {
    if (name.empty()) return;
    if (const auto* other = scope_.find(name)) {
      const std::string_view where = scope_.find_here(name) != nullptr ? "" : " outside";
      site_.reject(node, "defines ", quoted(name), ", the name of ", describe(*other), where);
      return;
    }
    Scope::Definition& defined = scope_.define(name);
    defined.node = &node;
    defined.made = site_.context.nodes;
  }

  const std::vector<NodeDef>& nodes_;
  Scope& scope_;
  const Site& site_;
  std::unordered_map<std::string_view, const NodeDef*> definers_;
};

}  // namespace

void check_graph(const GraphDef& graph, GraphRole role, Scope& scope, const Site& site) {
  GraphCheck(graph, role, scope, site).run();
}

void check_nodes(const std::vector<NodeDef>& nodes, Scope& scope, const Site& site) {
  NodesCheck(nodes, scope, site).run();
}

}  // namespace ondine::graph
