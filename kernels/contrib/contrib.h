// com.microsoft: the operators that onnxruntime's optimizers and quantizers and some exporters
// write. Each expands into operators of the standard, so that derivatives and fusions are theirs;
// Inverse alone has a kernel (kernels/matmul/inverse.cpp).
//
// Models are not checked against signatures of this domain when they are loaded: an infer rule
// starts with check_call.
#pragma once

#include <initializer_list>

#include "graph/contract/infer.h"
#include "graph/contract/ops.h"

namespace ondine::kernels {

inline constexpr std::string_view contrib_domain = "com.microsoft";

struct ContribCall {
  std::uint32_t required = 1;  // mask of the inputs that must be there
  std::size_t inputs = 1;      // at most
  std::size_t outputs = 1;     // at most
  std::initializer_list<std::string_view> attributes = {};
};

// Error(invalid_model) for a missing input, Error(unsupported) for an input, output or attribute
// that the operator does not have here: nothing is ignored.
void check_call(const graph::InferContext& context, const ContribCall& call);

// Error(unsupported) unless the integer attribute is absent or has this value.
void require_value(const graph::NodeView& node, std::string_view attribute, std::int64_t value);
// Error(mismatch) unless the inputs (omitted ones aside) are floats of one dtype.
void require_floats(const graph::InferContext& context, std::initializer_list<std::size_t> inputs);
// Error(mismatch) unless the input is int8 or uint8.
void require_bytes(const graph::InferContext& context, std::size_t input);
// Error(unsupported) while the rank of x is unknown.
void require_rank(const graph::NodeView& node, graph::Val x);
// Error(mismatch) unless the attribute is 1 or more.
std::int64_t positive_attribute(const graph::NodeView& node, std::string_view name);

// The attributes of the node that have one of these names.
graph::Attributes pick_attributes(const graph::NodeView& node,
                                  std::initializer_list<std::string_view> names);

// x + y, or x where y is empty.
graph::Val add_if(graph::Val x, graph::Val y);

}  // namespace ondine::kernels
