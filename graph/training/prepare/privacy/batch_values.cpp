#include "graph/training/prepare/privacy/batch_values.h"

#include <algorithm>

#include "graph/training/prepare/losses/pieces.h"

namespace ondine::graph {

BatchValues::BatchValues(GraphWriter& writer, const std::string& counted, DType dtype)
    : writer_(&writer),
      dtype_(dtype),
      size_(size_of(writer, counted, 0)),
      sizes_(unsqueeze(writer, size_, 0, "privacy.rows")) {}

std::string BatchValues::node(const char* op, std::vector<std::string> inputs, const char* hint,
                              Attributes attributes) const {
  return writer_->node(op, std::move(inputs), std::string("privacy.") + hint,
                       std::move(attributes));
}

std::string BatchValues::numbers(const std::vector<std::int64_t>& values) const {
  return integers(*writer_, "privacy.numbers", values);
}

std::string BatchValues::reshaped(const std::string& value,
                                  const std::vector<std::int64_t>& dims) const {
  const std::string shape =
      dims.empty() ? sizes_
                   : node("Concat", {sizes_, numbers(dims)}, "shape", {{"axis", std::int64_t{0}}});
  return node("Reshape", {value, shape}, "reshaped");
}

std::string BatchValues::transposed(const std::string& value,
                                    std::vector<std::int64_t> order) const {
  return node("Transpose", {value}, "transposed", {{"perm", std::move(order)}});
}

std::string BatchValues::rows_first(const std::string& value, const RowPlace& place) const {
  if (place.axis == 0) return value;
  std::vector<std::int64_t> order{static_cast<std::int64_t>(place.axis)};
  for (std::size_t i = 0; i < place.rank; ++i) {
    if (i != place.axis) order.push_back(static_cast<std::int64_t>(i));
  }
  return transposed(value, std::move(order));
}

std::string BatchValues::positions(const std::string& value, const RowPlace& place,
                                   std::int64_t width) const {
  return reshaped(rows_first(value, place), {-1, width});
}

std::string BatchValues::sum_of_squares(const std::string& value) const {
  return reduce(*writer_, "ReduceSumSquare", reshaped(value, {-1}), {1}, false, "privacy.squares");
}

std::string BatchValues::sum_of_elements(const std::string& value) const {
  return reduce(*writer_, "ReduceSum", reshaped(value, {-1}), {1}, false, "privacy.sum");
}

std::string BatchValues::times(const std::string& value, const RowPlace& place,
                               const std::string& factors) const {
  std::vector<std::int64_t> dims(place.rank, 1);
  dims[place.axis] = -1;
  std::string each = factors;
  if (!place.is_exact) {
    const std::string along = size_of(*writer_, value, static_cast<std::int64_t>(place.axis));
    const std::string parts =
        unsqueeze(*writer_, node("Div", {along, size_}, "parts"), 0, "privacy.parts");
    const std::string shape = node("Concat", {sizes_, parts}, "shape", {{"axis", std::int64_t{0}}});
    each = node("Expand", {reshaped(factors, {1}), shape}, "repeated");
  }
  return node("Mul", {value, node("Reshape", {each, numbers(dims)}, "factors")}, "weighed");
}

}  // namespace ondine::graph
