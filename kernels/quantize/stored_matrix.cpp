#include "kernels/quantize/stored_matrix.h"

#include "core/packed_elements.h"
#include "graph/contract/ops.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

namespace {

DType packed_dtype(const NodeView& node) {
  const std::int64_t type = node.attr_int("packed_type", 0);
  for (const DType dtype : {DType::int4, DType::uint4, DType::int2, DType::uint2}) {
    if (static_cast<std::int64_t>(dtype) == type) return dtype;
  }
  fail(ErrorCode::mismatch, "packed_type is ", type, ", needed: a type of 4 or 2 bits");
}

Shape packed_shape(const NodeView& node) {
  const auto dims = node.attr_ints("packed_shape");
  if (dims.size() != 2 || dims[0] < 0 || dims[1] < 0) {
    fail(ErrorCode::mismatch, "packed_shape has no rows and columns");
  }
  return {dims[0], dims[1]};
}

}  // namespace

bool is_packed_matrix(const NodeView& node) { return node.has_attr("packed_type"); }

DType matrix_dtype(const InferContext& context, std::size_t index) {
  return is_packed_matrix(context) ? packed_dtype(context) : context.dtype(index);
}

DType matrix_dtype(const BindContext& context, std::size_t index) {
  return is_packed_matrix(context) ? packed_dtype(context) : context.dtype(index);
}

std::array<float, 16> levels_of_nibbles(const NodeView& node, DType dtype) {
  const auto given = node.attr_floats("levels");
  std::array<float, 16> levels;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const int number = static_cast<int>(i) - (dtype == DType::int4 && i >= 8 ? 16 : 0);
    levels[i] = given.empty() ? static_cast<float>(number) : given[i];
  }
  return levels;
}

std::optional<Dims> matrix_dims(const InferContext& context, std::size_t index) {
  if (!is_packed_matrix(context)) {
    return context.ranked(index) ? std::optional(context.dims(index)) : std::nullopt;
  }
  const Shape shape = packed_shape(context);
  const auto bytes = static_cast<std::int64_t>(packed_size(packed_dtype(context), shape.size()));
  if (context.dtype(index) != DType::uint8) {
    context.reject("packed elements are ", context.dtype(index), ", needed: uint8");
  }
  if (context.ranked(index)) {
    if (context.rank(index) != 1) {
      context.reject("packed elements have shape ", to_string(context.dims(index)),
                     ", needed: one dim");
    }
    unify(context.dims(index)[0], bytes, "bytes of packed elements");
  }
  return Dims{shape[0], shape[1]};
}

Shape matrix_shape(const BindContext& context, std::size_t index) {
  return is_packed_matrix(context) ? packed_shape(context) : context.shape(index);
}

Val unpacked_matrix(const ExpandContext& context, std::size_t index) {
  const Val bytes = context.x(index);
  if (!is_packed_matrix(context)) return bytes;
  const DType dtype = packed_dtype(context);
  const Shape shape = packed_shape(context);
  const auto bits = static_cast<unsigned>(packed_bits(dtype));
  Builder& b = context.builder();
  const auto number = [&](unsigned x) {
    return b.constant(Tensor::scalar(static_cast<std::uint8_t>(x)));
  };
  std::vector<Val> parts;
  for (unsigned at = 0; at < 8; at += bits) {
    const Val shifted =
        b.node("BitShift", {bytes, number(at)}, {{"direction", std::string("RIGHT")}});
    parts.push_back(unsqueeze(b.node("BitwiseAnd", {shifted, number((1U << bits) - 1U)}), {1}));
  }
  Val elements =
      reshape(slice(reshape(concat(parts, 1), {-1}), 0, shape.size(), 0), {shape[0], shape[1]});
  if (dtype == DType::uint4 || dtype == DType::uint2) return elements;
  // x ^ s - s extends the sign bit s.
  const unsigned sign = 1U << (bits - 1);
  elements = cast(b.node("BitwiseXor", {elements, number(sign)}), DType::int8);
  return b.node("Sub", {elements, b.constant(Tensor::scalar(static_cast<std::int8_t>(sign)))});
}

}  // namespace ondine::kernels
