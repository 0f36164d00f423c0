#include "trainer/model/assemble.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "autodiff/expand.h"
#include "core/message.h"
#include "graph/check/findings.h"
#include "graph/check/structure.h"
#include "graph/ir/declared_type.h"
#include "graph/ir/name_table.h"
#include "graph/training/combine.h"
#include "graph/training/evaluation_model.h"
#include "graph/training/gradient_model.h"
#include "graph/training/initialization.h"
#include "graph/training/prepare/names.h"
#include "kernels/catalogue.h"
#include "trainer/model/assemble_graph.h"
#include "trainer/model/load_checked.h"

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

// Names that nodes of a graph, their subgraphs and its outputs read.
class ReadNames {
 public:
  explicit ReadNames(const GraphDef& graph) {
    for (const NodeDef& node : graph.nodes) {
      for (const std::string& input : node.inputs) names_.add(input);
      for (const auto& subgraph : subgraphs_of(node)) {
        captured_.push_back(captured_names(*subgraph));
        for (const std::string& name : captured_.back()) names_.add(name);
      }
    }
    for (const ValueDef& output : graph.outputs) names_.add(output.name);
  }

  bool contains(std::string_view name) const noexcept { return names_.contains(name); }

 private:
  NameTable<char> names_;
  std::vector<std::set<std::string>> captured_;
};

class Assembler {
 public:
  Assembler(const ModelDef& model, const LoadOptions& options, const StageObserver& observe)
      : model_(&model),
        options_(&options),
        observe_(&observe),
        graphs_(model, options),
        names_(state_variables(model)),
        findings_(rigor_of(options)) {}

  void set_rewrite(const std::function<void(Graph&)>& rewrite) { graphs_.set_rewrite(rewrite); }
  void set_rounded(std::shared_ptr<RoundedWeights> rounded) {
    functions_.rounded = std::move(rounded);
    graphs_.set_rounded(functions_.rounded.get());
  }
  // Makes functions that describe inputs and outputs.
  void only_describe() { use_ = GraphUse::describe; }

  Functions run() {
    check_structure(*model_, all_operators(), options_->limits, findings_);
    findings_.throw_if_any();
    collect_variables();
    const bool trains = !model_->training.empty();
    const bool shown = *observe_ || graphs_.rewrites();
    const GraphUse inference = trains && !shown ? GraphUse::describe : use_;
    auto infer = make_graph(model_->graph, names_, "", inference);
    std::vector<AssembledGraph> steps;
    std::vector<AssembledGraph> starts;
    std::vector<InitializationGraph> start_defs(model_->training.size());
    for (std::size_t i = 0; i < model_->training.size(); ++i) {
      steps.push_back(
          graphs_.make(step_parts(*model_, i), names_, "training", use_, findings_, *observe_));
      starts.emplace_back();
      if (!model_->training[i].initialization) continue;
      start_defs[i] = initialization_graph(*model_, i);
      starts[i] = make_graph(start_defs[i].graph, start_defs[i].variables, "initialization",
                             use_ == GraphUse::run ? GraphUse::run_once : use_);
    }
    findings_.throw_if_any();
    make_inference(std::move(infer), inference);
    for (std::size_t i = 0; i < steps.size(); ++i) make_step(i, std::move(steps[i]));
    for (std::size_t i = 0; i < starts.size(); ++i) {
      make_initialization(i, std::move(starts[i]), start_defs[i].graph);
    }
    warn_of_precision();
    findings_.throw_if_any();
    if (trains) functions_.folded = graphs_.take_folded();
    functions_.warnings = findings_.warnings();
    return std::move(functions_);
  }

  void warn_of_precision() {
    if (use_ != GraphUse::run || options_->precision != Precision::int8) return;
    if (graphs_.multiplied_bytes() || graphs_.rewrites()) return;
    findings_.warn(ErrorCode::mismatch,
                   "precision int8 computes what bf16 does: no MatMul or plain Gemm has a frozen "
                   "matrix of 65536 elements or more as its second factor");
  }

  Inference inference(std::vector<Variable> variables, const FoldedConvolutions& folded) {
    functions_.variables = std::move(variables);
    index_variables();
    graphs_.set_folded(folded);
    auto graph = make_graph(model_->graph, names_, "", GraphUse::run);
    findings_.throw_if_any();
    make_inference(std::move(graph), GraphUse::run);
    return std::move(functions_.inference);
  }

  Function evaluation(const EvaluationModel& evaluation, std::vector<Variable> variables,
                      const graph::Properties& binding) {
    functions_.variables = std::move(variables);
    index_variables();
    for (const Variable& variable : functions_.variables) names_.insert(variable.name);
    auto graph = make_graph(model_->graph, names_, "evaluation", GraphUse::run);
    findings_.throw_if_any();
    Function function = make_function(std::move(graph), model_->graph);
    function.default_outputs = evaluation.default_outputs;
    function.unread_inputs = evaluation.unread_inputs;
    bind(function, binding);
    findings_.throw_if_any();
    return function;
  }

 private:
  AssembledGraph make_graph(const GraphDef& def,
                            const std::set<std::string, std::less<>>& variables,
                            std::string_view stage, GraphUse use) {
    const GraphDef* const part = &def;
    return graphs_.make({&part, 1}, variables, stage, use, findings_, *observe_);
  }

  // Collects variables in the order of the initializers: main graph first, then the algorithms. A
  // variable that several algorithms share belongs to the main graph, which need not read it.
  void collect_variables() {
    std::unordered_set<std::string_view> updated;
    for (const auto& info : model_->training) {
      for (const auto& binding : info.update_binding) updated.insert(binding.first);
    }
    const ReadNames read(model_->graph);
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
  Function make_function(AssembledGraph made, const GraphDef& def) {
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
      if (source.variable == InputSource::no_variable) {
        source.fallback = initializers.value_of(name);
      }
      function.inputs.push_back(std::move(source));
    }
    for (std::size_t i = 0; i < def.outputs.size(); ++i) {
      const ValueDef& output = def.outputs[i];
      function.outputs.push_back(
          {output.name, g.outputs[i], to_type(output.type, graphs_.symbols())});
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

  void make_inference(AssembledGraph graph, GraphUse use) {
    Function& function = functions_.inference.function;
    function = make_function(std::move(graph), model_->graph);
    function.default_outputs = names_of(model_->graph.outputs);
    if (use == GraphUse::run) make_closed();
  }

  void make_closed() {
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
    const GraphDef* const part = &closed;
    auto graph = graphs_.make({&part, 1}, names_, "", GraphUse::run, unreported, {});
    if (!graph.graph) return;
    Function& function =
        functions_.inference.closed.emplace(make_function(std::move(graph), closed));
    function.default_outputs = names_of(closed.outputs);
  }

  void make_step(std::size_t i, AssembledGraph graph) {
    const TrainingInfoDef& info = model_->training[i];
    const GraphDef def = combine_ports(*model_, i);
    Algorithm algorithm;
    algorithm.step = make_function(std::move(graph), def);
    algorithm.outputs = names_of(info.algorithm ? info.algorithm->outputs : model_->graph.outputs);
    algorithm.step.default_outputs = algorithm.outputs;
    bind(algorithm.step, info.update_binding);
    functions_.algorithms.push_back(std::move(algorithm));
  }

  void make_initialization(std::size_t i, AssembledGraph graph, const GraphDef& def) {
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
  const StageObserver* observe_;
  GraphAssembler graphs_;
  GraphUse use_ = GraphUse::run;
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

const Function& Inference::for_feeds(std::span<const NamedValue> feeds) const {
  if (!closed) return function;
  const auto& names = closed->input_names;
  const bool fits = std::all_of(feeds.begin(), feeds.end(), [&](const NamedValue& feed) {
    return std::find(names.begin(), names.end(), feed.first) != names.end();
  });
  return fits ? *closed : function;
}

void Inference::forget_calls() noexcept {
  function.forget_calls();
  if (closed) closed->forget_calls();
}

Functions assemble(const ModelDef& model, const LoadOptions& options, const StageObserver& observe,
                   const RoundedWeights::Files& files) {
  Assembler assembler(model, options, observe);
  const bool rounds = options.precision != Precision::float32 && has_precision(options.precision);
  if (rounds) assembler.set_rounded(std::make_shared<RoundedWeights>(files));
  return assembler.run();
}

std::vector<std::string> check_assembly(const ModelDef& model, const LoadOptions& options) {
  const StageObserver nobody;
  Assembler assembler(model, options, nobody);
  assembler.only_describe();
  return assembler.run().warnings;
}

Inference assemble_inference(const ModelDef& model, const Functions& functions,
                             std::vector<Variable> variables, const LoadOptions& options) {
  const StageObserver nobody;
  Assembler assembler(model, options, nobody);
  assembler.set_rounded(functions.rounded);
  return assembler.inference(std::move(variables), functions.folded);
}

Functions assemble_plain(const ModelDef& model, const LoadOptions& options,
                         const std::function<void(Graph&)>& rewrite) {
  const StageObserver nobody;
  Assembler assembler(model, options, nobody);
  assembler.set_rewrite(rewrite);
  return assembler.run();
}

Function assemble_part(const EvaluationModel& part, const graph::Properties& binding,
                       const Functions& functions, std::vector<Variable> variables,
                       const LoadOptions& options) {
  const StageObserver nobody;
  Assembler assembler(part.model, options, nobody);
  assembler.set_rounded(functions.rounded);
  return assembler.evaluation(part, std::move(variables), binding);
}

Function assemble_evaluation(const ModelDef& model, std::size_t algorithm,
                             const Functions& functions, std::vector<Variable> variables,
                             const LoadOptions& options) {
  return assemble_part(evaluation_model(model, algorithm), {}, functions, std::move(variables),
                       options);
}

Gradients assemble_gradients(const ModelDef& model, std::size_t algorithm,
                             const Functions& functions, std::vector<Variable> variables,
                             const LoadOptions& options) {
  GradientModel made = gradient_model(model, algorithm);
  return {assemble_part(made.evaluation, {}, functions, std::move(variables), options),
          std::move(made.variables)};
}

}  // namespace ondine::trainer
