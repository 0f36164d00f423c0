// Integer parameters (axes, starts, pads, ...) that old versions of an operator hold as attributes
// and newer ones as inputs.
#pragma once

#include <optional>
#include <vector>

#include "graph/contract/builder.h"
#include "graph/contract/infer.h"
#include "graph/contract/kernel.h"

namespace ondine::kernels {

class IntegerParameter {
 public:
  IntegerParameter() = default;  // not given
  explicit IntegerParameter(std::vector<std::int64_t> values)
      : given_(true), values_(std::move(values)) {}
  // From an input; int32, int64 or (Tile-1) float elements.
  IntegerParameter(const graph::InferContext& context, std::size_t input);
  IntegerParameter(const graph::BindContext& context, std::size_t input);
  // From an attribute of node versions below `input_from`, later from an input.
  template <class Context>
  IntegerParameter(const Context& context, std::string_view attribute, std::int64_t input_from,
                   std::size_t input) {
    if (context.version() >= input_from) {
      *this = IntegerParameter(context, input);
    } else if (context.has_attr(attribute)) {
      *this = IntegerParameter(context.attr_ints(attribute));
    }
  }

  bool given() const noexcept { return given_; }
  // Whether it is not given or its elements are known now.
  bool known() const noexcept { return !given_ || values_.has_value(); }
  // The elements; none when not given. known() only.
  std::vector<std::int64_t> values() const;
  // The number of elements, where it is known.
  std::optional<std::int64_t> count() const;
  // The elements in a running call.
  std::vector<std::int64_t> read(const graph::KernelContext& call) const;

 private:
  bool given_ = false;
  std::optional<std::vector<std::int64_t>> values_;
  std::size_t input_ = 0;
  DType dtype_ = DType::undefined;
  std::optional<std::int64_t> count_;
};

// Integers of an attribute or constant, for gradient rules; nullopt if they are only known at run
// time. A value that is not given has no elements.
std::optional<std::vector<std::int64_t>> constant_integers(graph::Val value);

// The shape given by the elements of an integer vector input, with dynamic dims for unknown
// elements; nullopt where their number is unknown too. Error(mismatch) for negative elements,
// Error(limit) for more than Shape::max_rank.
std::optional<graph::Dims> dims_from_input(const graph::InferContext& context, std::size_t input);

// Normalizes axes for a tensor of this rank. Error(mismatch) for an axis out of range and for
// duplicates.
std::vector<std::size_t> normalize_axes(std::span<const std::int64_t> axes, std::size_t rank);

// [outer, dim, inner]: a shape with the axes before and after one of them merged.
struct AxisView {
  std::int64_t outer;
  std::int64_t dim;
  std::int64_t inner;

  AxisView(const Shape& shape, std::size_t axis)
      : outer(shape.size(0, axis)), dim(shape[axis]), inner(shape.size(axis + 1, shape.rank())) {}
};

}  // namespace ondine::kernels
