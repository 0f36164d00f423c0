#include "trainer/assemble.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "autodiff/expand.h"
#include "core/message.h"
#include "graph/check/findings.h"
#include "graph/check/structure.h"
#include "graph/check/types.h"
#include "graph/contract/node_limit.h"
#include "graph/ir/declared_type.h"
#include "graph/passes/rewrite.h"
#include "graph/resolve/dim_classes.h"
#include "graph/resolve/resolve.h"
#include "graph/training/combine.h"
#include "graph/training/evaluation_model.h"
#include "graph/training/initialization.h"
#include "graph/training/prepare/names.h"
#include "kernels/catalogue.h"
#include "trainer/load_checked.h"
#include "trainer/optimize.h"

namespace ondine::trainer {

using namespace graph;  // NOLINT

namespace {

// The initializers of a graph by name.
class Initializers {
 public:
  explicit Initializers(const GraphDef& graph) {
    for (const InitializerDef& one : graph.initializers) dense_.emplace(one.name, &one.value);
    for (const SparseTensorDef& one : graph.sparse_initializers) sparse_.emplace(one.name, &one);
  }

  // An undefined tensor where there is none.
  Tensor value_of(std::string_view name) const {
    if (const auto found = dense_.find(name); found != dense_.end()) return *found->second;
    const auto found = sparse_.find(name);
    return found == sparse_.end() ? Tensor() : densify(*found->second);
  }

 private:
  std::unordered_map<std::string_view, const Tensor*> dense_;
  std::unordered_map<std::string_view, const SparseTensorDef*> sparse_;
};

class Assembler {
 public:
  Assembler(const ModelDef& model, const LoadOptions& options, const StageObserver& observe)
      : model_(&model),
        options_(&options),
        observe_(&observe),
        symbols_(std::make_shared<Symbols>()),
        names_(state_variables(model)),
        findings_(rigor_of(options)) {}

  void set_rewrite(const std::function<void(Graph&)>& rewrite) { rewrite_ = &rewrite; }

  Functions run() {
    check_structure(*model_, all_operators(), options_->limits, findings_);
    findings_.throw_if_any();
    collect_variables();
    auto infer = make_graph(model_->graph, &names_, "");
    std::vector<Made> steps;
    std::vector<Made> starts;
    std::vector<InitializationGraph> start_defs(model_->training.size());
    for (std::size_t i = 0; i < model_->training.size(); ++i) {
      GraphDef step = combine(*model_, i);
      steps.push_back(make_graph(step, &names_, "training", findings_, *observe_, &step));
      starts.emplace_back();
      if (!model_->training[i].initialization) continue;
      start_defs[i] = initialization_graph(*model_, i);
      starts[i] = make_graph(start_defs[i].graph, &start_defs[i].variables, "initialization");
    }
    findings_.throw_if_any();
    make_infer(std::move(infer));
    make_infer_defaults();
    for (std::size_t i = 0; i < steps.size(); ++i) make_step(i, std::move(steps[i]));
    for (std::size_t i = 0; i < starts.size(); ++i) {
      make_initialization(i, std::move(starts[i]), start_defs[i].graph);
    }
    findings_.throw_if_any();
    functions_.warnings = findings_.warnings();
    return std::move(functions_);
  }

  Function evaluation(const EvaluationModel& evaluation, std::vector<Variable> variables) {
    functions_.variables = std::move(variables);
    index_variables();
    for (const Variable& variable : functions_.variables) names_.insert(variable.name);
    auto graph = make_graph(model_->graph, &names_, "evaluation");
    findings_.throw_if_any();
    Function function = make_function(std::move(graph), model_->graph);
    function.default_outputs = evaluation.default_outputs;
    function.unread_inputs = evaluation.unread_inputs;
    return function;
  }

 private:
  // Empty if there were findings.
  struct Made {
    std::shared_ptr<const Graph> graph;
    DimClasses dims;
  };

  Made make_graph(const GraphDef& def, const std::set<std::string, std::less<>>* variables,
                  std::string_view stage) {
    return make_graph(def, variables, stage, findings_, *observe_);
  }

  // `spent`: `def` if nobody needs it any more; it is cleared as soon as it is resolved.
  Made make_graph(const GraphDef& def, const std::set<std::string, std::less<>>* variables,
                  std::string_view stage, Findings& findings, const StageObserver& observer,
                  GraphDef* spent = nullptr) const {
    const std::size_t before = findings.count();
    const NodeLimit limit(options_->limits.nodes);
    Made result;
    const auto observe = [&](std::string_view name, const Graph& graph) {
      if (observer) observer(name, graph);
    };
    findings.collect([&] {
      ResolveContext context;
      context.model = model_;
      context.catalogue = &all_operators();
      context.limits = &options_->limits;
      context.symbols = symbols_;
      context.variables = variables;
      context.report = [&](const Error& error) { findings.add(error); };
      context.check_types = [&](const Node& node, const Graph& graph) {
        check_types(node, graph, findings);
      };
      const bool lenient = findings.rigor() == Rigor::lenient;
      if (lenient) context.warn = [&](const Error& error) { findings.warn(error); };
      Graph graph = resolve(def, context);
      if (spent != nullptr) *spent = {};
      if (findings.count() > before) return;
      result.dims = lenient ? compare_dims(graph, findings) : dim_classes(graph);
      observe(stage.empty() ? "graph" : stage, graph);
      const bool optimized = options_->optimize && rewrite_ == nullptr;
      if (rewrite_ != nullptr) (*rewrite_)(graph);
      if (optimized) recognize(graph, all_operators(), *options_);
      graph = autodiff::expand(std::move(graph), all_operators());
      observe("gradient", graph);
      if (optimized) optimize(graph, all_operators(), *options_, folded_);
      observe("optimized", graph);
      result.graph = std::make_shared<const Graph>(without_unused_values(std::move(graph)));
    });
    return result;
  }

  // Of a graph whose declared shapes are not trusted, but for its inputs.
  static DimClasses compare_dims(Graph& graph, Findings& findings) {
    try {
      dim_classes(graph);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_model) throw;
      findings.warn(error);
    }
    forget_declared_dims(graph);
    return dim_classes(graph);
  }

  // In the order of the initializers: main graph first, then the algorithms. What several
  // algorithms share belongs to the main graph, which need not read it.
  void collect_variables() {
    std::unordered_set<std::string_view> updated;
    for (const auto& info : model_->training) {
      for (const auto& binding : info.update_binding) updated.insert(binding.first);
    }
    const std::set<std::string> read = graph::reads_of(model_->graph);
    const auto collect = [&](const GraphDef& graph, bool is_main) {
      const auto add = [&](const std::string& name, Tensor initial) {
        StateRole role = StateRole::constant;
        if (updated.contains(name)) {
          const bool is_weight = is_main && (model_->graph.nodes.empty() || read.contains(name));
          role = !is_float(initial.dtype()) ? StateRole::counter
                 : is_weight                ? StateRole::weight
                                            : StateRole::optimizer_state;
        }
        functions_.variables.push_back({name, role, std::move(initial)});
      };
      for (const auto& init : graph.initializers) {
        if (names_.contains(init.name)) add(init.name, init.value);
      }
      for (const auto& init : graph.sparse_initializers) {
        if (names_.contains(init.name)) add(init.name, densify(init));
      }
    };
    collect(model_->graph, true);
    for (const auto& info : model_->training) {
      if (info.algorithm) collect(*info.algorithm, false);
    }
    index_variables();
  }

  void index_variables() {
    for (std::size_t i = 0; i < functions_.variables.size(); ++i) {
      variable_indices_.emplace(functions_.variables[i].name, i);
    }
  }

  std::size_t variable_index(const std::string& name) const {
    const auto found = variable_indices_.find(name);
    return found == variable_indices_.end() ? InputSource::no_variable : found->second;
  }

  // `def` is the definition from which the graph was resolved.
  Function make_function(Made made, const GraphDef& def) {
    Function function;
    function.graph = std::move(made.graph);
    function.dims = std::move(made.dims);
    const Graph& g = *function.graph;
    const Initializers initializers(def);
    for (std::size_t i = 0; i < g.inputs.size(); ++i) {
      InputSource source;
      source.declared = i < def.inputs.size();
      function.input_names.push_back(source.declared ? def.inputs[i].name : g[g.inputs[i]].name);
      const std::string& name = function.input_names.back();
      source.variable = variable_index(name);
      source.fallback = initializers.value_of(name);
      function.inputs.push_back(std::move(source));
    }
    for (std::size_t i = 0; i < def.outputs.size(); ++i) {
      const ValueDef& output = def.outputs[i];
      function.outputs.push_back({output.name, g.outputs[i], to_type(output.type, symbols_.get())});
    }
    return function;
  }

  void bind(Function& function, const graph::Properties& binding) {
    std::unordered_map<std::string_view, ValueId> values;
    for (const NamedOutput& output : function.outputs) values.emplace(output.name, output.value);
    for (const auto& [variable, output] : binding) {
      const auto found = values.find(output);
      if (found == values.end()) {
        findings_.add(ErrorCode::invalid_model, "binding of ", quoted(variable), ": ",
                      quoted(output), " is not an output");
        continue;
      }
      const std::size_t index = variable_index(variable);
      const Tensor& initial = functions_.variables[index].initial;
      const Type& type = (*function.graph)[found->second].type;
      const Type wanted = Type::tensor(initial.dtype(), initial.shape());
      if (!compatible(type, wanted)) {
        findings_.add(ErrorCode::invalid_model, "state variable ", quoted(variable), " is a ",
                      graph::to_string(wanted), " but is bound to ", quoted(output), ", a ",
                      graph::to_string(type));
      }
      function.updates.push_back({index, found->second});
    }
  }

  static std::vector<std::string> names_of(const std::vector<ValueDef>& values) {
    std::vector<std::string> names;
    for (const ValueDef& value : values) names.push_back(value.name);
    return names;
  }

  void make_infer(Made graph) {
    functions_.infer = make_function(std::move(graph), model_->graph);
    functions_.infer.default_outputs = names_of(model_->graph.outputs);
  }

  void make_infer_defaults() {
    const GraphDef& main = model_->graph;
    std::set<std::string_view> defaults;
    for (const InitializerDef& one : main.initializers) {
      if (!names_.contains(one.name)) defaults.insert(one.name);
    }
    const auto has_default = [&](const ValueDef& input) { return defaults.contains(input.name); };
    if (std::none_of(main.inputs.begin(), main.inputs.end(), has_default)) return;
    GraphDef closed = main;
    for (const ValueDef& input : main.inputs) {
      if (has_default(input)) closed.value_infos.push_back(input);
    }
    std::erase_if(closed.inputs, has_default);
    // Not a finding: a call may replace a default that does not work.
    Findings unreported(findings_.rigor());
    auto graph = make_graph(closed, &names_, "", unreported, {});
    if (!graph.graph) return;
    functions_.infer_defaults = make_function(std::move(graph), closed);
    functions_.infer_defaults->default_outputs = names_of(closed.outputs);
  }

  void make_step(std::size_t i, Made graph) {
    const TrainingInfoDef& info = model_->training[i];
    const GraphDef def = combine_ports(*model_, i);
    Algorithm algorithm;
    algorithm.step = make_function(std::move(graph), def);
    algorithm.outputs = names_of(info.algorithm ? info.algorithm->outputs : model_->graph.outputs);
    algorithm.step.default_outputs = algorithm.outputs;
    bind(algorithm.step, info.update_binding);
    functions_.algorithms.push_back(std::move(algorithm));
  }

  void make_initialization(std::size_t i, Made graph, const GraphDef& def) {
    if (!graph.graph) {
      functions_.initializations.emplace_back();
      return;
    }
    Function function = make_function(std::move(graph), def);
    bind(function, model_->training[i].initialization_binding);
    functions_.initializations.push_back(std::move(function));
  }

  const ModelDef* model_;
  const LoadOptions* options_;
  mutable FoldedConvolutions folded_;
  const StageObserver* observe_;
  const std::function<void(Graph&)>* rewrite_ = nullptr;
  std::shared_ptr<Symbols> symbols_;
  std::set<std::string, std::less<>> names_;
  std::unordered_map<std::string, std::size_t> variable_indices_;
  Findings findings_;
  Functions functions_;
};

}  // namespace

const Catalogue& all_operators() {
  static const Catalogue all = [] {
    const Catalogue kernels = kernels::catalogue();
    std::vector<const OpDef*> operators(kernels.all().begin(), kernels.all().end());
    operators.push_back(&autodiff::gradient_op);
    return Catalogue(operators);
  }();
  return all;
}

const Function& Functions::infer_for(std::span<const NamedValue> feeds) const {
  if (!infer_defaults) return infer;
  const auto& names = infer_defaults->input_names;
  const bool closed = std::all_of(feeds.begin(), feeds.end(), [&](const NamedValue& feed) {
    return std::find(names.begin(), names.end(), feed.first) != names.end();
  });
  return closed ? *infer_defaults : infer;
}

Functions assemble(const ModelDef& model, const LoadOptions& options,
                   const StageObserver& observe) {
  return Assembler(model, options, observe).run();
}

Functions assemble_plain(const ModelDef& model, const LoadOptions& options,
                         const std::function<void(Graph&)>& rewrite) {
  const StageObserver nobody;
  Assembler assembler(model, options, nobody);
  assembler.set_rewrite(rewrite);
  return assembler.run();
}

Function assemble_evaluation(const ModelDef& model, std::size_t algorithm,
                             std::vector<Variable> variables, const LoadOptions& options) {
  const EvaluationModel evaluation = evaluation_model(model, algorithm);
  const StageObserver nobody;
  return Assembler(evaluation.model, options, nobody).evaluation(evaluation, std::move(variables));
}

}  // namespace ondine::trainer
