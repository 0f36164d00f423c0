#include "tests/trainer/fit/small_task.h"

#include <algorithm>

#include "tests/support/models.h"
#include "tests/support/random_tensor.h"

namespace ondine::test {

NamedValues line_data(std::int64_t rows) {
  const Tensor x = random_floats({rows, 2}, 5);
  Tensor t(DType::float32, {rows, 1});
  const auto in = x.values<float>();
  auto out = t.mutable_values<float>();
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = 2 * in[2 * i] - in[2 * i + 1] + 0.5F;
  return {{"x", x}, {"t", t}};
}

Model line_model() { return Model::load(encode(linear_regression(0.05F))); }

Model classifier_model() { return Model::load(encode(dropout_classifier())); }

NamedValues classes_data(std::int64_t rows) {
  Tensor label(DType::int64, {rows});
  auto labels = label.mutable_values<std::int64_t>();
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int64_t>(i % 4);
  return {{"x", random_floats({rows, 8}, 6)}, {"label", label}};
}

bool same_state(const Model& a, const Model& b) {
  const std::vector<StateInfo> variables = a.state();
  return std::all_of(variables.begin(), variables.end(), [&](const StateInfo& one) {
    return a.get_state(one.name).identical(b.get_state(one.name));
  });
}

}  // namespace ondine::test
