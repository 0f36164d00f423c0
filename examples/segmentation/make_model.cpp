// Writes a small U-Net: make_unet OUT.onnx
#include <iostream>

#include <ondine/build.h>

namespace {

using ondine::DType;
using ondine::ModelBuilder;
using ondine::Shape;
using ondine::Tensor;

class UNet {
 public:
  ModelBuilder build() {
    const std::string image = builder_.input("image", DType::float32, {"N", 3, 32, 32});
    const std::string fine = conv(conv(image, "down1", 3, 16), "down2", 16, 16);
    const std::string half = conv(pool(fine), "middle1", 16, 32);
    const std::string coarse = conv(half, "middle2", 32, 32);
    const std::string up =
        builder_.node("ConvTranspose", {coarse, zeros("up.w", {32, 16, 2, 2}), zeros("up.b", {16})},
                      {{"strides", std::vector<std::int64_t>{2, 2}}});
    const std::string both = builder_.node("Concat", {fine, up}, {{"axis", std::int64_t{1}}});
    const std::string last = conv(both, "last", 32, 16);
    builder_.node("Conv", {last, zeros("classes.w", {3, 16, 1, 1}), zeros("classes.b", {3})}, {},
                  "logits");
    builder_.output("logits", DType::float32, {"N", 3, 32, 32});
    return std::move(builder_);
  }

 private:
  std::string zeros(const std::string& name, const Shape& shape) {
    return builder_.initializer(name, Tensor(DType::float32, shape));
  }

  std::string conv(const std::string& x, const std::string& name, std::int64_t from,
                   std::int64_t to) {
    const std::string y =
        builder_.node("Conv", {x, zeros(name + ".w", {to, from, 3, 3}), zeros(name + ".b", {to})},
                      {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
    return builder_.node("Relu", {y});
  }

  std::string pool(const std::string& x) {
    return builder_.node("MaxPool", {x},
                         {{"kernel_shape", std::vector<std::int64_t>{2, 2}},
                          {"strides", std::vector<std::int64_t>{2, 2}}});
  }

  ModelBuilder builder_{"unet"};
};

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) throw std::invalid_argument("usage: make_unet OUT.onnx");
  UNet().build().save(argv[1]);
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
