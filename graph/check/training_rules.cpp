// TrainingInfoProto: bindings, initialization graphs and algorithm graphs joined with the main
// graph.
#include <algorithm>

#include "graph/check/rules.h"
#include "graph/training/initialization.h"

namespace ondine::graph {
namespace {

struct Variable {
  DType dtype = DType::undefined;
  Shape shape;
};

using Variables = std::unordered_map<std::string_view, Variable>;

void add_variables(const GraphDef& graph, Variables& out) {
  for (const auto& initializer : graph.initializers) {
    out.emplace(initializer.name, Variable{initializer.value.dtype(), initializer.value.shape()});
  }
  for (const auto& sparse : graph.sparse_initializers) {
    out.emplace(sparse.name, Variable{sparse.values.dtype(), sparse.dims});
  }
}

using Outputs = std::unordered_map<std::string_view, const ValueDef*>;

// The names of a graph that bindings may refer to.
struct Names {
  Variables variables;
  Outputs outputs;

  Names() = default;
  explicit Names(const GraphDef& graph) {
    add_variables(graph, variables);
    for (const auto& output : graph.outputs) outputs.emplace(output.name, &output);
  }
};

template <class Map>
const typename Map::mapped_type* look_up(std::initializer_list<const Map*> maps,
                                         std::string_view name) {
  for (const Map* map : maps) {
    const auto found = map->find(name);
    if (found != map->end()) return &found->second;
  }
  return nullptr;
}

class TrainingCheck {
 public:
  TrainingCheck(std::size_t index, CheckContext& context, const Scope& main, const Scope& state,
                Environment& environment, const Names& main_names)
      : info_(context.model.training[index]),
        index_(index),
        context_(context),
        main_(main),
        state_(state),
        environment_(environment),
        main_names_(main_names) {}

  void run() {
    if (info_.initialization) check_initialization(*info_.initialization);
    if (info_.algorithm) {
      const Location location{cat("the algorithm graph of training_info ", index_)};
      Scope scope(&main_);
      check_graph(*info_.algorithm, GraphRole::algorithm, scope,
                  {context_, environment_, location});
    }
    if (info_.initialization) initial_ = Names(*info_.initialization);
    if (info_.algorithm) own_ = Names(*info_.algorithm);
    if (info_.initialization) {
      check_binding("initialization", info_.initialization_binding, {&initial_.outputs});
    } else {
      check_no_binding();
    }
    // "By default, this field is an empty graph": an update without an algorithm takes its value
    // from the main graph.
    check_binding("update", info_.update_binding, {&own_.outputs, &main_names_.outputs});
  }

  const Names& own() const noexcept { return own_; }

 private:
  template <class... Parts>
  void reject(const Parts&... parts) const {
    context_.findings.add(ErrorCode::invalid_model, parts..., ", in training_info ", index_);
  }

  void check_initialization(const GraphDef& graph) {
    const Location location{cat("the initialization graph of training_info ", index_)};
    Scope visible;
    for (const auto name : free_names(graph)) {
      if (const auto* variable = state_.find_here(name)) visible.define(name) = *variable;
    }
    Scope scope(&visible);
    check_graph(graph, GraphRole::initialization, scope, {context_, environment_, location});
    for (const auto& input : graph.inputs) {
      reject("an initialization graph must not have inputs, this one has ", quoted(input.name));
    }
  }

  // "A TrainingInfoProto.initialization MAY be omitted (only if there are no
  // initialization_bindings)."
  void check_no_binding() const {
    const Properties& binding = info_.initialization_binding;
    if (binding.empty()) return;
    reject("initialization binding of ", quoted(binding.front().first),
           " without an initialization graph");
  }

  void check_binding(std::string_view what, const Properties& binding,
                     std::initializer_list<const Outputs*> outputs) const {
    std::set<std::string_view> seen;
    for (const auto& [key, value] : binding) {
      if (!seen.insert(key).second) {
        reject(what, " binding of ", quoted(key), " is defined twice");
      }
      const auto* variable = look_up({&main_names_.variables, &own_.variables}, key);
      if (variable == nullptr) {
        reject(what, " binding of ", quoted(key), ", which is not an initializer");
      }
      const auto* output = look_up(outputs, value);
      if (output == nullptr) {
        reject(what, " binding of ", quoted(key), " to ", quoted(value),
               ", which is not a graph output");
      } else if (variable != nullptr) {
        check_type(what, key, *variable, **output);
      }
    }
  }

  void check_type(std::string_view what, const std::string& key, const Variable& variable,
                  const ValueDef& output) const {
    if (const auto reason = contradiction(variable.dtype, variable.shape, output.type)) {
      reject(what, " binding of ", quoted(key), " to ", quoted(output.name),
             ", whose type differs from the variable's: ", *reason);
    }
  }

  const TrainingInfoDef& info_;
  std::size_t index_;
  CheckContext& context_;
  const Scope& main_;
  const Scope& state_;
  Environment& environment_;
  const Names& main_names_;
  Names initial_;
  Names own_;
};

// The initializers that bindings make state.
void define_state(const GraphDef& graph, const std::set<std::string_view>& bound, Scope& state) {
  for (const auto& one : graph.initializers) {
    if (bound.contains(one.name)) state.define(one.name).initializer = &one.value;
  }
  for (const auto& one : graph.sparse_initializers) {
    if (bound.contains(one.name)) state.define(one.name).sparse = &one;
  }
}

}  // namespace

void check_training(CheckContext& context, const Scope& main, Environment& environment) {
  const auto& infos = context.model.training;
  if (infos.empty()) return;
  std::set<std::string_view> bound;
  for (const auto& info : infos) {
    for (const auto* binding : {&info.initialization_binding, &info.update_binding}) {
      for (const auto& [key, value] : *binding) bound.insert(key);
    }
  }
  Scope state;
  define_state(context.model.graph, bound, state);
  for (const auto& info : infos) {
    if (info.algorithm) define_state(*info.algorithm, bound, state);
  }
  const Names main_names(context.model.graph);
  // A state variable belongs to one algorithm or to the main graph; constants may share a name.
  std::unordered_map<std::string_view, std::size_t> owners;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    TrainingCheck check(i, context, main, state, environment, main_names);
    check.run();
    for (const auto& [name, variable] : check.own().variables) {
      if (!bound.contains(name)) continue;
      const auto [entry, fresh] = owners.emplace(name, i);
      if (fresh) continue;
      context.findings.add(ErrorCode::invalid_model, "state variable ", quoted(std::string(name)),
                           " is an initializer of the algorithm graphs of training_info ",
                           entry->second, " and ", i);
    }
  }
}

}  // namespace ondine::graph
