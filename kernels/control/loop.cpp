// loop.cpp — for (i = 0; i < M && cond; ++i) (cond, carried, scanned) = body(i, cond, carried).
// Derivative: loop_gradient.cpp, for which there are two more attributes:
//   collect_from  outputs from this one on are sequences of what the iterations gave, not stacks
//   countdown     iteration i draws the random numbers of iteration M - 1 - i
#include <algorithm>
#include <cstring>
#include <optional>

#include "core/budget.h"
#include "core/value_bytes.h"
#include "kernels/common/op.h"
#include "kernels/common/scalar_input.h"
#include "kernels/control/loop.h"

namespace ondine::kernels::ops {
namespace {

// How often a body is inferred, each time with types that hold for one more iteration.
constexpr int most_rounds = 8;

Type without_dims(Type type) {
  type.dims.reset();
  if (type.element) type.element = without_dims(*type.element);
  return type;
}

// The number of iterations when it is fixed: M is known and the condition stays true.
Dim trip_count(const InferContext& context) {
  const auto m = context.known_ints(0);
  if (!m || m->size() != 1 || context.has_input(1)) return {};
  const Subgraph& body = context.node().subgraphs[0];
  if (!body.graph) return {};
  const Graph& graph = *body.graph;
  ValueId condition = graph.outputs[0];
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    const bool identity = node.op->name == "Identity" && node.op->domain.empty();
    if (identity && node.outputs[0] == condition) condition = node.inputs[0];
  }
  const bool passed_on = condition == graph.inputs[1];
  const Tensor& constant = graph[condition].constant;
  const bool always = constant.defined() && constant.size() == 1 && constant.values<bool>()[0];
  return passed_on || always ? Dim(std::max<std::int64_t>((*m)[0], 0)) : Dim();
}

// The body takes an optional and returns its element, a plain value.
bool lifted(const Type& before, const Type& after) {
  return before.kind == TypeKind::optional && before.element && after.kind != TypeKind::optional &&
         join(*before.element, after).has_value();
}

// The first output that is collected.
std::size_t collected_from(const NodeView& node) {
  const auto last = static_cast<std::int64_t>(node.output_count());
  return static_cast<std::size_t>(
      std::clamp<std::int64_t>(node.attr_int("collect_from", last), 0, last));
}

// The types that the body returns. `formals` becomes those that hold before and after each
// iteration.
std::vector<Type> infer_body(InferContext& context, std::vector<Type>& formals) {
  const std::size_t carried = formals.size() - 2;
  const std::size_t body = context.subgraph_index("body");
  std::vector<Type> outputs;
  for (int round = 0; round <= most_rounds; ++round) {
    outputs = context.infer_subgraph(body, formals);
    if (outputs.size() < 1 + carried || context.output_count() > outputs.size() - 1) {
      context.reject("the body has ", outputs.size(), " outputs, the node ", carried,
                     " carried values and ", context.output_count(), " outputs");
    }
    bool settled = true;
    for (std::size_t i = 0; i < carried; ++i) {
      Type& formal = formals[i + 2];
      if (lifted(formal, outputs[i + 1])) continue;
      auto both = join(formal, outputs[i + 1]);
      if (!both) {
        context.reject("carried value ", i, " is a ", graph::to_string(formal), " before and a ",
                       graph::to_string(outputs[i + 1]), " after an iteration");
      }
      if (*both == formal) continue;
      settled = false;
      formal = round == 0 ? std::move(*both) : without_dims(std::move(*both));
    }
    if (settled) break;
    // One changed value changes another an iteration later, and so perhaps all of them in the end.
    const bool all = round + 1 == most_rounds;
    for (std::size_t i = 2; all && i < formals.size(); ++i) formals[i] = without_dims(formals[i]);
  }
  return outputs;
}

void infer(InferContext& context) {
  const std::size_t carried = context.input_count() < 2 ? 0 : context.input_count() - 2;
  std::vector<Type> formals{Type::tensor(DType::int64, Dims{}),
                            Type::tensor(DType::boolean, Dims{})};
  for (std::size_t i = 0; i < carried; ++i) formals.push_back(context.input(i + 2));
  const std::vector<Type> outputs = infer_body(context, formals);
  const Dim trips = trip_count(context);
  const std::size_t collected = collected_from(context);
  for (std::size_t k = 0; k < context.output_count(); ++k) {
    if (k < carried) {
      const bool plain = lifted(formals[k + 2], outputs[k + 1]);
      context.set_output(k, plain ? outputs[k + 1] : formals[k + 2]);
      continue;
    }
    Type scanned = outputs[k + 1];
    if (k >= collected) {
      context.set_output(k, Type::sequence(std::move(scanned)));
      continue;
    }
    if (!scanned.is_tensor()) context.reject("scan output ", k - carried, " is not a tensor");
    if (scanned.dims) scanned.dims->insert(scanned.dims->begin(), trips);
    context.set_output(k, std::move(scanned));
  }
}

// Concatenates all parts along a new first axis.
Tensor stack(const std::vector<Tensor>& parts, const Type& type, const KernelContext& call) {
  Shape shape{static_cast<std::int64_t>(parts.size())};
  if (parts.empty()) {
    // Dims that the type does not fix have an unknown size.
    for (std::size_t axis = 1; type.dims && axis < type.dims->size(); ++axis) {
      shape.push_back((*type.dims)[axis].known() ? (*type.dims)[axis].size() : 0);
    }
    return Tensor(type.dtype, shape, call.budget());
  }
  for (const auto dim : parts[0].shape()) shape.push_back(dim);
  Tensor result(parts[0].dtype(), shape, call.budget());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!(parts[i].shape() == parts[0].shape())) {
      fail(ErrorCode::mismatch, "a scan output has shape ", parts[0].shape(),
           " in iteration 0 and ", parts[i].shape(), " in iteration ", i);
    }
    const auto n = static_cast<std::size_t>(parts[i].size());
    if (result.dtype() == DType::string) {
      const auto from = parts[i].values<std::string>();
      std::copy(from.begin(), from.end(),
                result.mutable_values<std::string>().begin() + static_cast<std::ptrdiff_t>(i * n));
    } else if (n > 0) {
      std::memcpy(static_cast<std::byte*>(result.mutable_data()) + i * parts[i].bytes(),
                  parts[i].data(), parts[i].bytes());
    }
  }
  return result;
}

class LoopKernel {
 public:
  explicit LoopKernel(BindContext& context)
      : body_(context.subgraph(context.subgraph_index("body"))),
        carried_(context.input_count() < 2 ? 0 : context.input_count() - 2),
        outputs_(context.output_count()),
        collected_(std::max(collected_from(context), std::min(carried_, outputs_))),
        bounded_(context.has_input(0)),
        conditional_(context.has_input(1)),
        countdown_(bounded_ && context.attr_int("countdown", 0) != 0) {
    if (bounded_) require_one_element(context, 0, "the trip count");
    if (conditional_) require_one_element(context, 1, "the condition");
    for (std::size_t k = 0; k < outputs_; ++k) types_.push_back(context.output_type(k));
    const Graph& graph = *context.node().subgraphs[0].graph;
    for (std::size_t k = 0; k < carried_; ++k) {
      lifted_.push_back(lifted(graph[graph.inputs[k + 2]].type, graph[graph.outputs[k + 1]].type));
    }
    for (std::size_t k = carried_; k < collected_; ++k) {
      // The type of one iteration's part is that of the body, whose dims may be known where the
      // node's are not.
      const Type& part = graph[graph.outputs[k + 1]].type;
      if (part.dims && !types_[k].dims) {
        types_[k].dims = part.dims;
        types_[k].dims->insert(types_[k].dims->begin(), Dim());
      }
    }
  }

  void operator()(KernelContext& call) const {
    const std::int64_t m = bounded_ ? *call.in<std::int64_t>(0) : 0;
    bool go_on = conditional_ ? *call.in<bool>(1) : true;
    std::vector<Value> values;
    for (std::size_t i = 0; i < carried_; ++i) values.push_back(call.owned_value(i + 2));
    bool ran = false;
    std::vector<std::vector<Tensor>> scanned(collected_ - std::min(outputs_, carried_));
    std::vector<std::vector<Value>> collected(outputs_ - collected_);
    std::optional<BudgetShare> records(call.budget());
    for (std::int64_t i = 0; go_on && (!bounded_ || i < m); ++i) {
      call.count_iteration();
      records->add((scanned.size() + collected.size()) * held_value_bytes);
      std::vector<Value> formals{Tensor::scalar(i), Tensor::scalar(go_on)};
      for (std::size_t k = 0; k < carried_; ++k) {
        formals.push_back(i > 0 && lifted_[k] ? Value::optional(values[k]) : values[k]);
      }
      ran = true;
      const std::int64_t stream = countdown_ ? m - 1 - i : i;
      auto results = body_->run(call, formals, static_cast<std::uint64_t>(stream));
      const auto condition = results[0].tensor().values<bool>();
      if (condition.size() != 1) {
        fail(ErrorCode::mismatch, "the condition of iteration ", i, " has shape ",
             results[0].tensor().shape(), ", not one element");
      }
      go_on = condition[0];
      for (std::size_t k = 0; k < carried_; ++k) values[k] = std::move(results[k + 1]);
      for (std::size_t k = 0; k < scanned.size(); ++k) {
        scanned[k].push_back(results[carried_ + 1 + k].tensor());
      }
      for (std::size_t k = 0; k < collected.size(); ++k) {
        collected[k].push_back(std::move(results[collected_ + 1 + k]));
      }
    }
    records.reset();  // sequences are charged for their elements
    for (std::size_t k = 0; k < outputs_; ++k) {
      if (k < carried_) {
        if (!ran && lifted_[k]) {
          if (!values[k].has_element()) fail(ErrorCode::mismatch, "the optional is empty");
          values[k] = Value(values[k].elements()[0]);
        }
        call.set_value(k, std::move(values[k]));
      } else if (k >= collected_) {
        call.set_value(k, Value::sequence(std::move(collected[k - collected_])));
      } else {
        call.set_value(k, stack(scanned[k - carried_], types_[k], call));
      }
    }
  }

 private:
  SubgraphRunner* body_;
  std::size_t carried_;
  std::size_t outputs_;
  std::size_t collected_;  // the first output that is a sequence
  bool bounded_;
  bool conditional_;
  bool countdown_;
  std::vector<Type> types_;
  std::vector<bool> lifted_;  // by carried value
};

Kernel bind(BindContext& context) { return LoopKernel(context); }

}  // namespace

extern const OpDef loop{.name = "Loop",
                        .infer = infer,
                        .bind = bind,
                        .grad = loop_gradient,
                        .expand = expand_loop,
                        .no_gradient = 3};

}  // namespace ondine::kernels::ops
