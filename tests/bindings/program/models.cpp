// models FOLDER: writes the models that the programs in C read. net.onnx: logits [N, 3] of
// image [N, 4]; line.onnx: y = x w + b with one number a row.
#include <filesystem>

#include <ondine/build.h>
#include <ondine/tensor.h>

int main(int, char** arguments) {
  using namespace ondine;
  const std::filesystem::path folder(arguments[1]);
  std::filesystem::create_directories(folder);
  ModelBuilder net("net");
  net.input("image", DType::float32, {"N", 4});
  const std::vector<float> zeros(12, 0.0F);
  net.initializer("w", Tensor::of<float>({4, 3}, zeros));
  net.initializer("b", Tensor::of<float>({3}, {0, 0, 0}));
  net.node("Gemm", {"image", "w", "b"}, {}, "logits");
  net.output("logits", DType::float32, {"N", 3});
  net.save(folder / "net.onnx");

  ModelBuilder line("line");
  line.input("x", DType::float32, {"N", 1});
  line.initializer("w", Tensor::of<float>({1, 1}, {0.5F}));
  line.initializer("b", Tensor::of<float>({1}, {0}));
  line.node("Gemm", {"x", "w", "b"}, {}, "y");
  line.output("y", DType::float32, {"N", 1});
  line.save(folder / "line.onnx");
}
