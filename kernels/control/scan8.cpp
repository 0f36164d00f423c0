// scan8.cpp — Scan-8: the inputs are sequence_lens [B] (optional), states [B, ...] and scan inputs
// [B, T, ...]. Each element of the batch is a scan of its own; beyond its length outputs are zero.
#include <array>

#include "graph/contract/subgraph_builder.h"
#include "kernels/common/op.h"
#include "kernels/control/scan8.h"

namespace ondine::kernels::ops {
namespace {

Type without_axes(Type type, std::size_t count) {
  if (!type.dims) return type;
  if (type.dims->size() < count) {
    fail(ErrorCode::mismatch, "a scan input has rank ", type.dims->size(), ", at least ", count,
         " is needed");
  }
  type.dims->erase(type.dims->begin(), type.dims->begin() + static_cast<std::ptrdiff_t>(count));
  return type;
}

Type with_axes(Type type, std::initializer_list<Dim> axes) {
  if (type.dims) type.dims->insert(type.dims->begin(), axes);
  return type;
}

std::size_t scan_count(const NodeView& node) {
  const std::int64_t scans = node.attr_int("num_scan_inputs", 0);
  if (scans < 1 || scans >= static_cast<std::int64_t>(node.input_count())) {
    fail(ErrorCode::invalid_model, "attribute 'num_scan_inputs' is ", scans, " for ",
         node.input_count(), " inputs");
  }
  return static_cast<std::size_t>(scans);
}

}  // namespace

void infer_scan8(InferContext& context) {
  const std::size_t scans = scan_count(context);
  const std::size_t states = context.input_count() - 1 - scans;
  Dim batch;
  Dim length;
  std::vector<Type> formals;
  for (std::size_t i = 1; i < context.input_count(); ++i) {
    const bool state = i <= states;
    if (context.ranked(i) && context.rank(i) >= (state ? 1U : 2U)) {
      batch = unify(batch, context.dims(i)[0], "batch sizes");
      if (!state) length = unify(length, context.dims(i)[1], "sequence lengths");
    }
    formals.push_back(without_axes(context.input(i), state ? 1 : 2));
  }
  auto outputs = context.infer_subgraph(context.subgraph_index("body"), formals);
  if (outputs.size() < context.output_count()) {
    context.reject("the body has ", outputs.size(), " outputs, the node ", context.output_count());
  }
  for (std::size_t k = 0; k < context.output_count(); ++k) {
    context.set_output(
        k, k < states ? with_axes(outputs[k], {batch}) : with_axes(outputs[k], {batch, length}));
  }
}

// A Loop over the batch around a Scan over time; samples that end early are padded with zeros.
std::vector<Val> expand_scan8(ExpandContext& context) {
  Builder& b = context.builder();
  const std::size_t scans = scan_count(context);
  const std::size_t states = context.input_count() - 1 - scans;
  SubgraphBuilder outer(b);
  Builder& inner = outer.builder();
  const Val at = outer.add_formal("i", Type::tensor(DType::int64, Dims{}));
  const Val go_on = outer.add_formal("go_on", Type::tensor(DType::boolean, Dims{}));
  const Val length = outer.capture(dim_of(context.x(1 + states), 1));
  const Val used =
      context.has_input(0) ? unsqueeze(gather(outer.capture(context.x(0)), at, 0), {0}) : length;
  std::vector<Val> inputs;
  const auto directions = context.attr_ints("directions", std::vector<std::int64_t>(scans, 0));
  for (std::size_t i = 1; i < context.input_count(); ++i) {
    Val part = gather(outer.capture(context.x(i)), at, 0);
    if (i > states) {
      part = inner.node("Slice", {part, inner.int64s({0}), used, inner.int64s({0})});
    }
    inputs.push_back(part);
  }
  Subgraph body = context.node().subgraphs[0];
  for (ValueId& id : body.captures) id = outer.capture(b.value(id)).id();
  auto results = control_node(inner, "Scan", inputs, {body}, context.output_count(),
                              {{"num_scan_inputs", static_cast<std::int64_t>(scans)},
                               {"scan_input_directions", directions}});
  std::vector<Val> outputs{inner.node("Identity", {go_on})};
  for (std::size_t k = 0; k < results.size(); ++k) {
    Val result = results[k];
    if (k >= states) {
      const Val rest = reshape(length - used, {1});
      const Val zero = scalar_like(result, 0);
      const std::array<Val, 2> pads{inner.int64s({0}), rest};
      result = inner.node("Pad", {result, concat(pads, 0), zero, inner.int64s({0})});
    }
    outputs.push_back(result);
  }
  const std::array<Val, 2> loop_inputs{dim_of(context.x(1), 0), Val()};
  return control_node(b, "Loop", loop_inputs, {outer.finish("body", outputs)},
                      context.output_count());
}

}  // namespace ondine::kernels::ops
