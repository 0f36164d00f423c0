#include "kernels/common/integer_parameters.h"

#include <cmath>

namespace ondine::kernels {
namespace {

std::int64_t from_real(double value) {
  if (!(std::fabs(value) < 0x1p62) || value != std::floor(value)) {
    fail(ErrorCode::mismatch, "parameter ", value, " is not an integer");
  }
  return static_cast<std::int64_t>(value);
}

std::vector<std::int64_t> elements(DType dtype, std::int64_t count, const void* data) {
  std::vector<std::int64_t> out;
  const auto take = [&]<class T>(const T* values) {
    for (std::int64_t i = 0; i < count; ++i) {
      if constexpr (std::is_integral_v<T>) {
        out.push_back(values[i]);
      } else {
        out.push_back(from_real(static_cast<double>(values[i])));
      }
    }
  };
  switch (dtype) {
    case DType::int64:
      take(static_cast<const std::int64_t*>(data));
      break;
    case DType::int32:
      take(static_cast<const std::int32_t*>(data));
      break;
    case DType::float32:
      take(static_cast<const float*>(data));
      break;
    case DType::float64:
      take(static_cast<const double*>(data));
      break;
    default:
      fail(ErrorCode::unsupported, "integer parameters of dtype ", dtype);
  }
  return out;
}

std::vector<std::int64_t> elements(const Tensor& tensor) {
  return elements(tensor.dtype(), tensor.size(), tensor.data());
}

}  // namespace

IntegerParameter::IntegerParameter(const graph::InferContext& context, std::size_t input)
    : given_(context.has_input(input)), input_(input) {
  if (!given_) return;
  if (const Tensor* constant = context.constant(input)) {
    values_ = elements(*constant);
  } else {
    values_ = context.known_ints(input);
  }
  if (values_) {
    count_ = static_cast<std::int64_t>(values_->size());
  } else if (const auto shape = context.input(input).shape()) {
    count_ = shape->size();
    if (*count_ == 0) values_.emplace();
  }
}

IntegerParameter::IntegerParameter(const graph::BindContext& context, std::size_t input)
    : given_(context.has_input(input)), input_(input) {
  if (!given_) return;
  dtype_ = context.dtype(input);
  count_ = context.shape(input).size();
  if (const Tensor* constant = context.constant(input)) {
    values_ = elements(*constant);
  } else if (*count_ == 0) {
    values_.emplace();
  }
}

std::vector<std::int64_t> IntegerParameter::values() const {
  return values_ ? *values_ : std::vector<std::int64_t>{};
}

std::optional<std::int64_t> IntegerParameter::count() const {
  if (values_) return static_cast<std::int64_t>(values_->size());
  return given_ ? count_ : 0;
}

std::vector<std::int64_t> IntegerParameter::read(const graph::KernelContext& call) const {
  if (known()) return values();
  return elements(dtype_, *count_, call.in<void>(input_));
}

std::optional<std::vector<std::int64_t>> constant_integers(graph::Val value) {
  if (!value) return std::vector<std::int64_t>{};
  const graph::GraphValue& known = value.builder().graph()[value.id()];
  if (known.constant->defined()) return elements(known.constant);
  const auto shape = known.type.shape();
  if (shape && shape->size() == 0) return std::vector<std::int64_t>{};
  return std::nullopt;
}

std::optional<graph::Dims> dims_from_input(const graph::InferContext& context, std::size_t input) {
  const IntegerParameter ints(context, input);
  if (ints.known()) {
    for (const std::int64_t dim : ints.values()) {
      if (dim < 0) fail(ErrorCode::mismatch, "shape element ", dim, " is negative");
    }
  }
  if (auto known = context.known_dims(input)) return known;
  if (const Tensor* constant = context.constant(input); constant && constant->shape().rank() > 1) {
    context.reject("input ", input, " must be a vector of dims, found shape ", constant->shape());
  }
  const auto count = ints.count();
  if (!count) return std::nullopt;
  if (*count > static_cast<std::int64_t>(Shape::max_rank)) {
    fail(ErrorCode::limit, "rank ", *count, " is above ", Shape::max_rank);
  }
  return graph::Dims(static_cast<std::size_t>(*count));
}

std::vector<std::size_t> normalize_axes(std::span<const std::int64_t> axes, std::size_t rank) {
  std::vector<std::size_t> out;
  std::vector<bool> seen(rank);
  for (const std::int64_t axis : axes) {
    const std::size_t at = graph::NodeView::normalize_axis(axis, rank);
    if (seen[at]) fail(ErrorCode::mismatch, "duplicate axis ", axis);
    seen[at] = true;
    out.push_back(at);
  }
  return out;
}

}  // namespace ondine::kernels
