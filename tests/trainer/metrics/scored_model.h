// Data sets whose outputs are given, to compare metrics with values computed another way.
#pragma once

#include <string>
#include <vector>

#include <ondine/build.h>
#include <ondine/prepare.h>
#include <ondine/trainer.h>

namespace ondine::test {

// A model prepared with `loss` whose output is its input "x" [N, columns].
inline Model passing_model(std::int64_t columns, Loss loss) {
  ModelBuilder b("passing", 17);
  const std::string x = b.input("x", DType::float32, {"N", columns});
  Tensor w(DType::float32, {columns});
  for (float& one : w.mutable_values<float>()) one = 1;
  b.node("Mul", {x, b.initializer("w", w)}, {}, "out");
  b.output("out", DType::float32, {"N", columns});
  return prepare(b.bytes(), {.loss = loss, .train = {"w"}, .init = WeightInit::keep});
}

// Evaluates the model on x and labels in batches of 7 rows.
inline Evaluation evaluated(const Model& model, const Tensor& x, const Tensor& labels,
                            const std::vector<std::string>& metrics) {
  return evaluate(model, Dataset::from({{"x", x}, {"label", labels}}),
                  {.batch_size = 7, .metrics = metrics});
}

}  // namespace ondine::test
