// What prepare prints, and its options for heads and losses on probabilities.
#include <catch2/catch.hpp>

#include <ondine/build.h>

#include "tests/support/random_tensor.h"
#include "tests/system/cli_run.h"

using namespace cli_test;
using namespace ondine;

namespace {

// logits -> Softmax -> p, and a mask that is added to the logits.
void save_classifier(const std::filesystem::path& file, bool average) {
  ModelBuilder b("classifier");
  const std::string x = b.input("x", DType::float32, {"N", 4});
  b.node("MatMul", {x, b.initializer("w", test::random_floats({4, 3}, 1))}, {}, "product");
  const Tensor mask = Tensor::of<float>({1, 3}, {0, 0, -1e9F});
  b.node("Add", {"product", b.initializer("mask", mask)}, {}, "logits");
  b.node("Softmax", {"logits"}, {}, "p");
  b.node("Softmax", {"product"}, {}, "q");
  b.node("Mean", {"p", average ? "q" : "p"}, {}, "y");
  b.node("Identity", {"p"}, {}, "single");
  b.output(average ? "y" : "single", DType::float32, {"N", 3});
  b.save(file);
}

}  // namespace

TEST_CASE("prepare prints what the loss reads and a table of parameters with reasons") {
  const Workshop shop;
  save_classifier(shop / "masked.onnx", false);
  const std::string prepare = "prepare masked.onnx -o t.onnx --loss softmax-cross-entropy ";
  const std::string out = shop.succeed(prepare).out;
  CHECK_THAT(out, Catch::Contains("reads 'logits': the logits of which Softmax 'p'"));
  CHECK_THAT(out, Catch::Matches("[^]*  train   w     \\[4, 3\\]  read by MatMul 'product'\n[^]*"));
  CHECK_THAT(out, Catch::Matches("[^]*  freeze  mask  \\[1, 3\\]  holds elements of size[^]*"));
  CHECK_THAT(shop.succeed(prepare + "--train mask").out,
             Catch::Contains("train pattern 'mask'") && Catch::Contains("freeze  w"));
}

TEST_CASE("prepare refuses logits that are not there and takes losses on probabilities") {
  const Workshop shop;
  save_classifier(shop / "mean.onnx", true);
  shop.refuse("prepare mean.onnx -o t.onnx --loss softmax-cross-entropy", "(nll)");
  CHECK_FALSE(std::filesystem::exists(shop / "t.onnx"));
  shop.succeed("prepare mean.onnx -o t.onnx --loss nll");
  shop.succeed("gradcheck t.onnx");
  shop.succeed("prepare mean.onnx -o t.onnx --loss bce-probabilities");
  shop.succeed("prepare mean.onnx -o t.onnx --loss softmax-cross-entropy --loss-output product");
}

TEST_CASE("prepare puts a new head, or says why it does not") {
  const Workshop shop;
  const std::string prepare = "prepare net.onnx -o t.onnx --loss softmax-cross-entropy ";
  const std::string out = shop.succeed(prepare + "--head 5").out;
  CHECK_THAT(out, Catch::Contains("head    '") && Catch::Contains("head.weight"));
  CHECK_THAT(shop.succeed("info t.onnx").out, Catch::Contains("5"));
  shop.refuse(prepare + "--head 5 --cut nothing", "'nothing'");
  shop.refuse(prepare + "--cut x", "--head");
  shop.refuse(prepare + "--head 0", "at least one class");
}
