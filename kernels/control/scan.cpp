// scan.cpp — (state, outs_i) = body(state, slice i of each scan input). Written as a Loop, from
// which the derivative follows. Version 8 has a batch axis 0 and sequence_lens: scan8.cpp.
#include "kernels/common/expansion.h"
#include "kernels/control/scan8.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "kernels/common/op.h"
#include "kernels/control/loop_body.h"

namespace ondine::kernels::ops {
namespace {

std::vector<std::int64_t> per_input(const NodeView& node, std::string_view name,
                                    std::size_t count) {
  auto values = node.attr_ints(name, std::vector<std::int64_t>(count, 0));
  if (values.size() != count) {
    fail(ErrorCode::invalid_model, "attribute ", quoted(name), " has ", values.size(),
         " elements, needed: ", count);
  }
  return values;
}

struct Form {
  std::size_t states = 0;
  std::size_t scans = 0;
  std::size_t scan_outputs = 0;
  std::vector<std::int64_t> input_axes;
  std::vector<std::int64_t> input_directions;
  std::vector<std::int64_t> output_axes;
  std::vector<std::int64_t> output_directions;
};

Form form_of(const NodeView& node) {
  Form form;
  const std::int64_t scans = node.attr_int("num_scan_inputs", 0);
  if (scans < 1 || scans > static_cast<std::int64_t>(node.input_count())) {
    fail(ErrorCode::invalid_model, "attribute 'num_scan_inputs' is ", scans, " for ",
         node.input_count(), " inputs");
  }
  form.scans = static_cast<std::size_t>(scans);
  form.states = node.input_count() - form.scans;
  if (node.output_count() < form.states) {
    fail(ErrorCode::invalid_model, "Scan has ", form.states, " states and ", node.output_count(),
         " outputs");
  }
  form.scan_outputs = node.output_count() - form.states;
  form.input_axes = per_input(node, "scan_input_axes", form.scans);
  form.input_directions = per_input(node, "scan_input_directions", form.scans);
  form.output_axes = per_input(node, "scan_output_axes", form.scan_outputs);
  form.output_directions = per_input(node, "scan_output_directions", form.scan_outputs);
  return form;
}

void infer(InferContext& context) {
  if (context.version() < 9) return infer_scan8(context);
  const Form form = form_of(context);
  std::vector<Type> formals;
  for (std::size_t i = 0; i < form.states; ++i) formals.push_back(context.input(i));
  Dim length;
  for (std::size_t j = 0; j < form.scans; ++j) {
    Type slice = context.input(form.states + j);
    if (slice.dims) {
      const auto axis = NodeView::normalize_axis(form.input_axes[j], slice.dims->size());
      length = unify(length, (*slice.dims)[axis], "lengths of the scan inputs");
      slice.dims->erase(slice.dims->begin() + static_cast<std::ptrdiff_t>(axis));
    }
    formals.push_back(std::move(slice));
  }
  auto outputs = context.infer_subgraph(context.subgraph_index("body"), formals);
  if (outputs.size() < context.output_count()) {
    context.reject("the body has ", outputs.size(), " outputs, the node ", context.output_count());
  }
  for (std::size_t k = 0; k < context.output_count(); ++k) {
    Type type = outputs[k];
    if (k < form.states) {
      auto both = join(type, formals[k]);
      if (!both) {
        context.reject("state ", k, " is a ", graph::to_string(formals[k]), " before and a ",
                       graph::to_string(type), " after an iteration");
      }
      type = std::move(*both);
    } else if (type.dims) {
      const auto axis =
          NodeView::normalize_axis(form.output_axes[k - form.states], type.dims->size() + 1);
      type.dims->insert(type.dims->begin() + static_cast<std::ptrdiff_t>(axis), length);
    }
    context.set_output(k, std::move(type));
  }
}

// A stack along axis 0, in the direction and at the axis that the attributes ask for.
Val arrange(Val stacked, std::int64_t direction, std::int64_t wanted_axis) {
  if (direction != 0) {
    constexpr std::int64_t first = std::numeric_limits<std::int64_t>::min();
    stacked = slice(stacked, -1, first, 0, -1);
  }
  if (wanted_axis == 0) return stacked;
  if (!stacked.ranked()) {
    fail(ErrorCode::unsupported, "the rank of a scan output with an axis must be known");
  }
  const auto axis = NodeView::normalize_axis(wanted_axis, stacked.rank());
  std::vector<std::int64_t> perm(stacked.rank());
  std::iota(perm.begin(), perm.end(), std::int64_t{0});
  std::rotate(perm.begin(), perm.begin() + 1, perm.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
  return transpose(stacked, perm);
}

std::vector<Val> expand(ExpandContext& context) {
  if (context.version() < 9) return expand_scan8(context);
  const Form form = form_of(context);
  LoopBody body(context.builder(), context.node().subgraphs[0]);
  Builder& inner = body.builder();
  for (std::size_t i = 0; i < form.states; ++i) body.adopt_formal(body.inputs[i]);
  const Val length = dim_of(context.x(form.states), form.input_axes[0]);
  for (std::size_t j = 0; j < form.scans; ++j) {
    Val at = body.iteration;
    if (form.input_directions[j] != 0) {
      at = squeeze(body.capture(length), {0}) - inner.int64(1) - at;
    }
    const Val scanned = body.capture(with_dims_of(context.x(form.states + j), {form.input_axes[j]},
                                                  context.x(form.states), {form.input_axes[0]},
                                                  "lengths of the scan inputs"));
    inner.alias(gather(scanned, at, form.input_axes[j]), body.inputs[form.states + j]);
  }
  body.append_nodes();
  std::vector<Val> outputs{inner.node("Identity", {body.condition})};
  for (const Val output : body.outputs()) outputs.push_back(output);
  std::vector<Val> inputs{length, Val()};
  for (std::size_t i = 0; i < form.states; ++i) inputs.push_back(context.x(i));
  auto results = control_node(context.builder(), "Loop", inputs, {body.finish("body", outputs)},
                              outputs.size() - 1);
  context.builder().graph().nodes.back().stream = context.node().stream;
  for (std::size_t k = 0; k < form.scan_outputs; ++k) {
    Val& result = results[form.states + k];
    result = arrange(result, form.output_directions[k], form.output_axes[k]);
  }
  return results;
}

}  // namespace

extern const OpDef scan_op{.name = "Scan", .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
