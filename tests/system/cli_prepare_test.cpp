// Output of prepare, and its options for heads and losses on probabilities.
#include <catch2/catch.hpp>

#include <ondine/build.h>

#include "tests/support/random_tensor.h"
#include "tests/system/run/cli_run.h"

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
  CHECK_THAT(out, Catch::Matches("[^]*  freeze  mask  \\[1, 3\\]  a mask of 0 and[^]*"));
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

TEST_CASE("prepare takes options of losses, and refuses those that make no sense") {
  const Workshop shop;
  const std::string prepare = "prepare net.onnx -o t.onnx ";
  const std::string entropy = prepare + "--label y --loss softmax-cross-entropy ";
  shop.succeed(entropy + "--label-smoothing 0.1 --ignore-index -1 --class-weights 1,0.5,2");
  shop.succeed("gradcheck t.onnx");
  shop.succeed("train t.onnx --data data --batch-size 7 --epochs 1 -o m.onnx");
  shop.succeed(entropy + "--soft-labels");
  shop.succeed(prepare + "--loss focal --focal-gamma 0.5 --class-weights 1,1,3");
  shop.succeed(prepare + "--loss triplet --margin 0.5");
  std::filesystem::remove(shop / "t.onnx");
  shop.refuse(entropy + "--label-smoothing 1", "label smoothing must be in [0, 1)");
  shop.refuse(entropy + "--class-weights 1,2", "2 class weights for 3 classes");
  shop.refuse(prepare + "--loss focal --focal-gamma -1", "focal gamma");
  for (const char* wrong :
       {"", "--loss mse --loss-model l.onnx", "--loss mse --class-weights 1,",
        "--loss mse --class-weights a", "--loss mse --ignore-index 1.5", "--loss mse --soft-labels",
        "--loss softmax-cross-entropy --focal-gamma 3"}) {
    const auto result = shop.run(prepare + wrong);
    CHECK(result.exit_code == 2);
    CHECK_FALSE(result.err.empty());
  }
  CHECK_FALSE(std::filesystem::exists(shop / "t.onnx"));
}

TEST_CASE("prepare takes a loss from a file") {
  const Workshop shop;
  ModelBuilder b("loss", 13);
  b.input("logits", DType::float32, {"N", 3});
  b.input("y", DType::int64, {"N"});
  b.node("SoftmaxCrossEntropyLoss", {"logits", "y"}, {}, "entropy");
  b.node("ReduceSumSquare", {"logits"}, {{"keepdims", std::int64_t{0}}}, "size");
  b.node("Mul", {"size", b.initializer("factor", Tensor::scalar(1e-3F))}, {}, "penalty");
  b.node("Add", {"entropy", "penalty"}, {}, "sum");
  b.output("sum", DType::float32, {});
  b.save(shop / "loss.onnx");
  const std::string out = shop.succeed("prepare net.onnx -o t.onnx --loss-model loss.onnx").out;
  CHECK_THAT(out, Catch::Contains("inputs of the loss model: 'logits'"));
  shop.succeed("gradcheck t.onnx");
  shop.succeed("train t.onnx --data data --batch-size 7 --epochs 1 -o m.onnx");
  CHECK_THAT(shop.succeed("eval m.onnx --data data").out, Catch::Contains("accuracy"));
  shop.refuse("prepare net.onnx -o u.onnx --loss-model net.onnx", "net.onnx");
  CHECK_FALSE(std::filesystem::exists(shop / "u.onnx"));
}

TEST_CASE("prepare puts a new head, or says why it does not") {
  const Workshop shop;
  const std::string prepare = "prepare net.onnx -o t.onnx --loss softmax-cross-entropy ";
  const std::string out = shop.succeed(prepare + "--head 5").out;
  CHECK_THAT(out, Catch::Contains("head    '") && Catch::Contains("head.weight"));
  CHECK_THAT(shop.succeed("info t.onnx").out, Catch::Contains("5"));
  shop.refuse(prepare + "--head 5 --cut nothing", "'nothing'");
  shop.misuse(prepare + "--cut x", "--head");
  shop.refuse(prepare + "--head 0", "at least one class");
}

TEST_CASE("prepare stores frozen weights in few bits and says what that costs") {
  const Workshop shop;
  ModelBuilder b("wide", 21);
  const std::string x = b.input("x", DType::float32, {"N", 64});
  const std::string hidden =
      b.node("MatMul", {x, b.initializer("frozen", test::random_floats({64, 32}, 1))});
  b.output(b.node("MatMul", {hidden, b.initializer("head", test::random_floats({32, 3}, 2))}),
           DType::float32, {"N", 3});
  b.save(shop / "wide.onnx");
  const std::string prepare = "prepare wide.onnx -o t.onnx --loss mse --train head ";
  const std::string out = shop.succeed(prepare + "--quantize-frozen int8").out;
  CHECK_THAT(out, Catch::Contains("  quantized 1 frozen weights, 0.008192 to 0.002304 MB; largest "
                                  "relative error 0.00") &&
                      Catch::Contains(", of 'frozen'\n"));
  shop.succeed("gradcheck t.onnx");
  CHECK_THAT(shop.succeed("prepare wide.onnx -o t.onnx --loss mse --quantize-frozen int4").out,
             Catch::Contains("  quantized 0 frozen weights: products and lookups read no frozen "
                             "matrix of 1,024 elements and more\n"));
  CHECK_THAT(shop.succeed(prepare + "--quantize-frozen nf4").out,
             Catch::Contains("  quantized 1 frozen weights, 0.008192 to 0.001152 MB; largest "
                             "relative error 0.0"));
  shop.succeed("gradcheck t.onnx");
  const Result wrong = shop.run(prepare + "--quantize-frozen int3");
  CHECK(wrong.exit_code == 2);
  CHECK_THAT(
      wrong.err,
      Catch::Contains(
          "--quantize-frozen needs int8, int4, nf4 or bf16, found 'int3'; did you mean int8?"));
}
