#include "trainer/lower/lower_model.h"

#include <algorithm>
#include <set>

#include "autodiff/expand.h"
#include "core/message.h"
#include "graph/training/lower/standard.h"
#include "trainer/lower/standard_model.h"
#include "trainer/model/assemble.h"

namespace ondine::trainer {

using namespace graph;  // NOLINT

namespace {

void unroll(Graph& graph) {
  if (autodiff::has_gradient(graph)) graph = unroll_recurrences(graph, all_operators());
}

void require(std::size_t index, std::size_t count, std::string_view what) {
  if (index < count) return;
  fail(ErrorCode::mismatch, "the model has no training ", what, ' ', index);
}

// The function to lower, and the outputs that it is bound to.
struct Chosen {
  const Function* function;
  const graph::Properties* binding;
};

Chosen choose(const ModelDef& model, const Functions& functions, const LowerOptions& options) {
  if (options.initialization) {
    require(*options.initialization, functions.initializations.size(), "information");
    const Function& chosen = functions.initializations[*options.initialization];
    if (!chosen.graph) {
      fail(ErrorCode::mismatch, "training information ", *options.initialization,
           " has no initialization");
    }
    return {&chosen, &model.training[*options.initialization].initialization_binding};
  }
  require(options.algorithm, functions.algorithms.size(), "algorithm");
  return {&functions.algorithms[options.algorithm].step,
          &model.training[options.algorithm].update_binding};
}

class Lowering {
 public:
  Lowering(const Chosen& chosen, const Functions& functions, LowerReport& report)
      : function_(*chosen.function), functions_(functions), report_(report) {
    add_inputs();
    for (const std::string& name : function_.default_outputs) {
      report_.results.push_back(add_output(name));
    }
    for (const auto& [variable, output] : *chosen.binding) {
      report_.next_state.emplace_back(variable, add_output(output));
    }
  }

  ModelDef run(const ModelDef& source, std::int64_t opset, const Limits& limits) const {
    Graph graph = *function_.graph;
    graph.outputs = outputs_;
    ModelDef model =
        standard_model(std::move(graph), inputs_, output_names_, source, opset, limits);
    for (const auto& [variable, output] : report_.next_state) {
      model.metadata.emplace_back("ondine.state." + variable, output);
    }
    for (const ValueDef& input : model.graph.inputs) {
      (variables_.contains(input.name) ? report_.state : report_.feeds).push_back(input.name);
    }
    report_.opset = opset;
    report_.nodes = model.graph.nodes.size();
    return model;
  }

 private:
  void add_inputs() {
    for (std::size_t i = 0; i < function_.inputs.size(); ++i) {
      const InputSource& source = function_.inputs[i];
      const std::string& name = function_.input_names[i];
      const bool state = source.variable != InputSource::no_variable;
      inputs_.push_back({name,
                         state ? functions_.variables[source.variable].initial : *source.fallback,
                         source.declared});
      if (state) variables_.insert(name);
      taken_.insert(name);
    }
  }

  // The name of the output in the lowered model, which names no input.
  std::string add_output(const std::string& name) {
    const auto known = std::find(given_.begin(), given_.end(), name);
    if (known != given_.end()) {
      return output_names_[static_cast<std::size_t>(known - given_.begin())];
    }
    const auto found = std::find_if(function_.outputs.begin(), function_.outputs.end(),
                                    [&](const NamedOutput& one) { return one.name == name; });
    if (found == function_.outputs.end()) {
      fail(ErrorCode::internal, "output ", quoted(name), " is not in the graph");
    }
    std::string free = name;
    while (!taken_.insert(free).second) free += "_out";
    given_.push_back(name);
    output_names_.push_back(free);
    outputs_.push_back(found->value);
    return free;
  }

  const Function& function_;
  const Functions& functions_;
  LowerReport& report_;
  std::vector<NamedInput> inputs_;
  std::set<std::string> variables_;
  std::set<std::string> taken_;
  std::vector<std::string> given_;  // names of the outputs in the training model
  std::vector<std::string> output_names_;
  std::vector<ValueId> outputs_;
};

}  // namespace

ModelDef lower_model(const ModelDef& model, const LowerOptions& options, const Limits& limits,
                     LowerReport& report) {
  LoadOptions load;
  load.limits = limits;
  const std::int64_t opset = lowered_opset(model, options.opset);
  const Functions functions = assemble_plain(model, load, unroll);
  report = {};
  ModelDef lowered =
      Lowering(choose(model, functions, options), functions, report).run(model, opset, limits);
  // The result must be a model like any other.
  with_context([&] { assemble_plain(lowered, load, [](Graph&) {}); },
               [] { return std::string("the lowered model"); });
  return lowered;
}

}  // namespace ondine::trainer
