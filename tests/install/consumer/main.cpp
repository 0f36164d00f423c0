// Writes y = x w, prepares and trains it for w = 2.
#include <cmath>
#include <cstdio>

#include <ondine/build.h>
#include <ondine/model.h>
#include <ondine/prepare.h>

int main() {
  using namespace ondine;
  ModelBuilder builder("line");
  builder.input("x", DType::float32, {"N", 1});
  builder.initializer("w", Tensor::of<float>({1, 1}, {0.5F}));
  builder.node("MatMul", {"x", "w"}, {}, "y");
  builder.output("y", DType::float32, {"N", 1});
  builder.save("line.onnx");
  PrepareOptions options;
  options.loss = Loss::mse;
  options.optimizer = Sgd{.learning_rate = 0.1F};
  prepare("line.onnx", "line_train.onnx", options);
  Model model = Model::load("line_train.onnx");
  const NamedValues feeds{{"x", Tensor::of<float>({2, 1}, {1, 2})},
                          {"label", Tensor::of<float>({2, 1}, {2, 4})}};
  for (int i = 0; i < 100; ++i) model.train_step(feeds);
  const float w = model.get_state("w").item<float>();
  std::printf("w = %g\n", static_cast<double>(w));
  return std::abs(w - 2) < 1e-3F ? 0 : 1;
}
