#include "graph/contract/infer.h"

#include <algorithm>

#include "graph/contract/clipped_dim.h"

namespace ondine::graph {
namespace {

// Only integer inputs hold dims. Elements of others are not read, so that nodes stay bound when
// those change.
bool holds_integers(const InferContext& context, std::size_t i) {
  if (!context.has_input(i)) return false;
  const DType dtype = context.dtype(i);
  return dtype == DType::int64 || dtype == DType::int32;
}

}  // namespace

InferContext::InferContext(const Node& node, std::span<const Input> inputs,
                           InferSubgraph infer_subgraph)
    : NodeView(node),
      inputs_(inputs),
      infer_subgraph_(std::move(infer_subgraph)),
      outputs_(node.outputs.size()) {}

const Type& InferContext::input(std::size_t i) const {
  if (i >= inputs_.size() || inputs_[i].type == nullptr) {
    fail(ErrorCode::invalid_model, "input ", i, " is missing");
  }
  return *inputs_[i].type;
}

const InferContext::Input* InferContext::elements_of(std::size_t i) const {
  if (i >= inputs_.size() || inputs_[i].type == nullptr) return nullptr;
  if (inputs_[i].read != nullptr) *inputs_[i].read = true;
  return &inputs_[i];
}

const Tensor* InferContext::constant(std::size_t i) const {
  const Input* input = elements_of(i);
  return input != nullptr ? input->constant : nullptr;
}

std::optional<Dims> InferContext::known_dims(std::size_t i) const {
  if (!holds_integers(*this, i)) return std::nullopt;
  const Input* input = elements_of(i);
  if (input == nullptr) return std::nullopt;
  if (input->known_dims != nullptr) return *input->known_dims;
  const Tensor* tensor = input->constant;
  if (tensor == nullptr || tensor->shape().rank() > 1) return std::nullopt;
  Dims dims;
  const auto take = [&](auto values) {
    for (const auto value : values) {
      // Negative elements (-1 in Reshape, ends of Slice) are not dims: only known_ints returns
      // them.
      if (value < 0) return false;
      dims.emplace_back(static_cast<std::int64_t>(value));
    }
    return true;
  };
  bool fits = false;
  if (tensor->dtype() == DType::int64) fits = take(tensor->values<std::int64_t>());
  if (tensor->dtype() == DType::int32) fits = take(tensor->values<std::int32_t>());
  return fits ? std::optional(dims) : std::nullopt;
}

std::optional<std::vector<std::int64_t>> InferContext::known_ints(std::size_t i) const {
  if (!holds_integers(*this, i)) return std::nullopt;
  const Input* input = elements_of(i);
  if (input == nullptr) return std::nullopt;
  const Tensor* tensor = input->constant;
  std::vector<std::int64_t> ints;
  if (tensor != nullptr && tensor->dtype() == DType::int64) {
    const auto values = tensor->values<std::int64_t>();
    ints.assign(values.begin(), values.end());
    return ints;
  }
  if (tensor != nullptr && tensor->dtype() == DType::int32) {
    const auto values = tensor->values<std::int32_t>();
    ints.assign(values.begin(), values.end());
    return ints;
  }
  if (tensor != nullptr || input->known_dims == nullptr) return std::nullopt;
  for (const Dim dim : *input->known_dims) {
    if (!dim.known()) return std::nullopt;
    ints.push_back(dim.size());
  }
  return ints;
}

std::vector<Type> InferContext::infer_subgraph(std::size_t subgraph,
                                               std::span<const Type> formal_inputs) const {
  if (!infer_subgraph_) fail(ErrorCode::internal, "subgraphs cannot be inferred here");
  return infer_subgraph_(subgraph, formal_inputs);
}

void InferContext::set_output(std::size_t i, Type type) {
  if (i < outputs_.size()) outputs_[i].type = std::move(type);
}

void InferContext::set_output(std::size_t i, DType dtype, std::optional<Dims> dims) {
  Type type = Type::tensor(dtype);
  type.dims = std::move(dims);
  set_output(i, std::move(type));
}

void InferContext::set_known_dims(std::size_t i, Dims dims) {
  if (i < outputs_.size()) outputs_[i].known_dims = std::move(dims);
}

Dim unify(Dim a, Dim b, std::string_view what) {
  if (a.known() && b.known() && !a.same(b)) {
    fail(ErrorCode::mismatch, what, " differ: ", a.size(), " and ", b.size());
  }
  if (a.known() || b.known()) return a.known() ? a : b;
  return a.has_symbol() ? a : b;
}

Dims broadcast(const Dims& a, const Dims& b) {
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  Dims out = longer;
  const std::size_t offset = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    const Dim x = longer[offset + i];
    const Dim y = shorter[i];
    Dim& target = out[offset + i];
    if (x.same(y) || y.same(1) || broadcasts_only_whole(y, x)) continue;
    if (x.same(1) || broadcasts_only_whole(x, y)) {
      target = y;
    } else if (x.known() && y.known()) {
      fail(ErrorCode::mismatch, "shapes ", to_string(a), " and ", to_string(b),
           " do not broadcast: dims ", x.size(), " and ", y.size());
    } else if (x.known() || y.known()) {
      target = x.known() ? x : y;  // the other one must be 1 or the same
    } else {
      target = Dim();
    }
  }
  return out;
}

std::optional<Dims> broadcast_inputs(const InferContext& context) {
  Dims out;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    if (!context.has_input(i)) continue;
    if (!context.ranked(i)) return std::nullopt;
    out = broadcast(out, context.dims(i));
  }
  return out;
}

void infer_same_as_input(InferContext& context) { context.set_output(0, context.input(0)); }

void infer_broadcast(InferContext& context) {
  for (std::size_t i = 1; i < context.input_count(); ++i) {
    if (context.dtype(i) != context.dtype(0)) {
      context.reject("inputs 0 and ", i, " differ in dtype: ", context.dtype(0), " and ",
                     context.dtype(i));
    }
  }
  context.set_output(0, context.dtype(0), broadcast_inputs(context));
}

Dim multiply(Dim a, Dim b) {
  if (a.same(0) || b.same(0)) return 0;
  if (a.same(1)) return b;
  if (b.same(1)) return a;
  std::int64_t result = 0;
  if (!a.known() || !b.known()) {
    if (a.known()) std::swap(a, b);
    if (!a.has_symbol() || !b.known()) return {};
    if (__builtin_mul_overflow(a.factor(), b.size(), &result)) return {};
    return Dim::multiple(result, a.symbol());
  }
  if (__builtin_mul_overflow(a.size(), b.size(), &result)) {
    fail(ErrorCode::limit, "size of a dim overflows: ", a.size(), " * ", b.size());
  }
  return result;
}

Dim add(Dim a, Dim b) {
  if (a.same(0)) return b;
  if (b.same(0)) return a;
  if (!a.known() || !b.known()) return {};
  std::int64_t result = 0;
  if (__builtin_add_overflow(a.size(), b.size(), &result)) {
    fail(ErrorCode::limit, "size of a dim overflows: ", a.size(), " + ", b.size());
  }
  return result;
}

Dim product(std::span<const Dim> dims) {
  Dim result = 1;
  for (const Dim dim : dims) result = multiply(result, dim);
  return result;
}

}  // namespace ondine::graph
