#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/float_formats.h"
#include "core/message.h"
#include "core/out_of_memory.h"
#include "core/to_doubles.h"
#include "graph/contract/opsets.h"
#include "graph/record/training_entries.h"
#include "trainer/model/model_impl.h"

namespace ondine {
namespace {

constexpr std::string_view property = graph::entry::learning_rate;
// The values that optimizers of the algorithm read as R, before casts.
std::set<std::string> rates_of_optimizers(const graph::GraphDef& algorithm) {
  std::map<std::string_view, std::string_view> cast_from;
  std::set<std::string> rates;
  for (const graph::NodeDef& node : algorithm.nodes) {
    const bool casts = node.domain.empty() && (node.op == "Cast" || node.op == "Identity");
    if (casts && node.inputs.size() == 1 && node.outputs.size() == 1) {
      cast_from[node.outputs[0]] = node.inputs[0];
    }
    const bool optimizes = node.op == "Adagrad" || node.op == "Adam" || node.op == "Momentum";
    if (node.domain != graph::training_domain || !optimizes || node.inputs.empty()) continue;
    std::string_view rate = node.inputs[0];
    for (auto at = cast_from.find(rate); at != cast_from.end(); at = cast_from.find(rate)) {
      rate = at->second;
    }
    rates.emplace(rate);
  }
  return rates;
}

std::set<std::string> candidates(const graph::ModelDef& def, const graph::Properties& metadata,
                                 std::size_t algorithm) {
  for (const auto& [name, text] : metadata) {
    if (name == property) return {text};
  }
  std::set<std::string> names{"learning_rate", "lr"};
  const auto& graph = def.training[algorithm].algorithm;
  if (graph) names.merge(rates_of_optimizers(*graph));
  return names;
}

// Number in a tensor that require_one_number accepts.
float to_number(const Tensor& tensor) { return static_cast<float>(to_doubles(tensor)->front()); }

Tensor to_tensor(float value, DType dtype, const Shape& shape) {
  Tensor tensor(dtype, shape);
  switch (dtype) {
    case DType::float64:
      tensor.mutable_values<double>()[0] = static_cast<double>(value);
      break;
    case DType::float16:
      tensor.mutable_values<float16>()[0] = to_float16(value);
      break;
    case DType::bfloat16:
      tensor.mutable_values<bfloat16>()[0] = to_bfloat16(value);
      break;
    default:
      tensor.mutable_values<float>()[0] = value;
  }
  return tensor;
}

// The shape of one number; dynamic dims are 1.
Shape declared_shape(const graph::Type& type) {
  Shape shape;
  if (!type.dims) return shape;
  for (const graph::Dim dim : *type.dims) shape.push_back(dim.known() ? dim.size() : 1);
  return shape;
}

void require_one_number(const std::string& name, DType dtype, const Shape& shape) {
  if (is_differentiable(dtype) && shape.size() == 1) return;
  fail(ErrorCode::mismatch, "the learning rate ", quoted(name), " is a ", dtype, shape,
       ", not one floating point number");
}

}  // namespace

Model::Impl::Rate Model::Impl::find_rate(std::size_t algorithm) const {
  const trainer::Function& step = require_algorithm(algorithm).step;
  const std::set<std::string> names = candidates(def, metadata(), algorithm);
  std::vector<Rate> found;
  std::string looked_for;
  for (const std::string& name : names) {
    looked_for += " " + quoted(name);
    if (const std::size_t variable = state.find(name); variable < state.size()) {
      found.push_back({name, 0, variable});
      continue;
    }
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      if (step.inputs[i].declared && step.input_names[i] == name) {
        found.push_back({name, i, state.size()});
      }
    }
  }
  if (found.size() == 1) return found[0];
  fail(ErrorCode::mismatch, "the learning rate of algorithm ", algorithm, " is ",
       found.empty() ? "unknown: there is no input or state variable of the names"
                     : "ambiguous: there are several inputs or state variables of the names",
       looked_for);
}

float Model::learning_rate(std::size_t algorithm) const {
  return guard_memory("read the learning rate", [&] {
    const Impl::Rate rate = impl_->find_rate(algorithm);
    if (rate.variable < impl_->state.size()) {
      const Tensor& initial = impl_->state.variable(rate.variable).initial;
      require_one_number(rate.name, initial.dtype(), initial.shape());
      return to_number(impl_->state.read()[rate.variable]);
    }
    const Tensor& value = impl_->functions.algorithms[algorithm].step.inputs[rate.input].fallback;
    if (!value.defined()) {
      fail(ErrorCode::mismatch, "the learning rate ", quoted(rate.name),
           " has no default: feed it, or call set_learning_rate first");
    }
    require_one_number(rate.name, value.dtype(), value.shape());
    return to_number(value);
  });
}

void Model::set_learning_rate(float rate, std::size_t algorithm) {
  guard_memory("set the learning rate", [&] {
    if (!std::isfinite(rate)) {
      fail(ErrorCode::mismatch, "the learning rate must be a finite number, not ",
           static_cast<double>(rate));
    }
    const Impl::Rate at = impl_->find_rate(algorithm);
    if (at.variable < impl_->state.size()) {
      const Tensor& initial = impl_->state.variable(at.variable).initial;
      require_one_number(at.name, initial.dtype(), initial.shape());
      set_state(at.name, to_tensor(rate, initial.dtype(), initial.shape()));
      return;
    }
    const auto scope = impl_->use(trainer::Use::write, "set the learning rate");
    trainer::Function& step = impl_->functions.algorithms[algorithm].step;
    const graph::Type& type = (*step.graph)[step.graph->inputs[at.input]].declared;
    Tensor& fallback = step.inputs[at.input].fallback.edit();
    const Shape shape = fallback.defined() ? fallback.shape() : declared_shape(type);
    const DType dtype = fallback.defined() ? fallback.dtype() : type.dtype;
    require_one_number(at.name, dtype, shape);
    fallback = to_tensor(rate, dtype, shape);
  });
}

}  // namespace ondine
