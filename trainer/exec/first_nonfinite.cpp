#include "trainer/exec/first_nonfinite.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/message.h"
#include "core/to_doubles.h"
#include "graph/contract/op_def.h"

namespace ondine::trainer {
namespace {

using namespace graph;  // NOLINT

// The position of the first such element.
template <class Is>
std::optional<std::size_t> find_element(const Value& value, const Is& is) {
  if (!value.is_tensor() || !is_float(value.tensor().dtype())) return {};
  const auto elements = to_doubles(value.tensor());
  if (!elements) return {};
  const auto found = std::find_if(elements->begin(), elements->end(), is);
  if (found == elements->end()) return {};
  return static_cast<std::size_t>(found - elements->begin());
}

std::optional<std::size_t> find_nonfinite(const Value& value) {
  return find_element(value, [](double one) { return !std::isfinite(one); });
}

// "'x' of shape [2, 3], whose element 4 is inf"
std::string describe_element(const std::string& name, const Tensor& tensor, std::size_t element) {
  return cat(quoted(name), " of shape ", tensor.shape(), ", whose element ", element, " is ",
             (*to_doubles(tensor))[element]);
}

std::string among_inputs(const Executor& executor, const Function& function,
                         const StateStore& state, bool of_state) {
  const Graph& graph = executor.plan().graph;
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    const std::size_t variable = function.inputs[i].variable;
    const bool is_state = variable != InputSource::no_variable;
    if (is_state != of_state) continue;
    const Value value = executor.value(graph.inputs[i]);
    const auto found =
        is_state ? find_nonfinite(value)
                 : find_element(value, [](double one) { return std::isnan(one) || one > 1e308; });
    if (!found) continue;
    const std::string name = is_state ? state.variable(variable).name : function.input_names[i];
    return (is_state ? "state variable " : "input ") +
           describe_element(name, value.tensor(), *found);
  }
  return {};
}

std::string among_results(Executor& executor, CallState& call) {
  const Plan& plan = executor.plan();
  std::string first_of_nonfinite;  // inputs
  for (std::size_t i = 0; i < plan.commit_begin; ++i) {
    const Node& node = *plan.nodes[i].node;
    // Before the node runs: its result may take the memory of what it reads.
    bool reads_nonfinite = false;
    for (const ValueId id : node.all_inputs()) {
      if (id != no_value && find_nonfinite(executor.value(id))) reads_nonfinite = true;
    }
    executor.run_again(call, i);
    for (const ValueId id : node.outputs) {
      if (id == no_value) continue;
      const Value value = executor.value(id);
      const auto found = find_nonfinite(value);
      if (!found) continue;
      std::string text = describe_element(plan.graph[id].name, value.tensor(), *found) +
                         ", made by " + describe(node, plan.graph);
      if (!reads_nonfinite) return text;
      const bool is_nan = std::isnan((*to_doubles(value.tensor()))[*found]);
      if (is_nan && first_of_nonfinite.empty()) first_of_nonfinite = std::move(text);
    }
  }
  return first_of_nonfinite;
}

}  // namespace

std::string first_nonfinite(Executor& executor, CallState& call, const Function& function,
                            const StateStore& state) {
  for (const bool of_state : {false, true}) {
    std::string found = among_inputs(executor, function, state, of_state);
    if (!found.empty()) return found;
  }
  try {
    return among_results(executor, call);
  } catch (const Error&) {
    return {};  // a limit or deadline that the second run reaches
  }
}

}  // namespace ondine::trainer
