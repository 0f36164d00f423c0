// models FOLDER: writes the models that the programs in C read. net.onnx: logits [N, 3] of
// image [N, 4]; line.onnx: y = x w + b with one number a row; bytes.onnx: scores of the next byte,
// of which that of the byte that follows by its value is the largest.
#include <filesystem>

#include <ondine/build.h>
#include <ondine/tensor.h>

namespace {

using namespace ondine;

void write_bytes(const std::filesystem::path& file) {
  constexpr std::int64_t count = 256;
  Tensor table(DType::float32, {count, count});
  for (std::int64_t i = 0; i < count; ++i) {
    table.mutable_values<float>()[static_cast<std::size_t>(i * count + (i + 1) % count)] = 5;
  }
  ModelBuilder b("bytes");
  const std::string ids = b.input("ids", DType::int64, {"N", "T"});
  b.node("Gather", {b.initializer("table", table), ids}, {}, "scores");
  b.output("scores", DType::float32, {"N", "T", count});
  b.save(file);
}

}  // namespace

int main(int, char** arguments) {
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

  write_bytes(folder / "bytes.onnx");
}
