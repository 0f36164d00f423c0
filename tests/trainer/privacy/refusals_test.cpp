// Refusals of training with privacy.
#include <catch2/catch.hpp>

#include <ondine/build.h>
#include <ondine/prepare.h>

#include "tests/support/random_tensor.h"
#include "tests/trainer/privacy/private_models.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

PrepareOptions squares() {
  PrepareOptions options = private_options(1, 1, 4);
  options.loss = Loss::mse;
  return options;
}

// out = x w [+ what `add` writes].
template <class Add>
std::vector<std::byte> network(const Add& add, ModelBuilder::Dim batch = "N") {
  ModelBuilder b("net", 17);
  const std::string x = b.input("x", DType::float32, {batch, 3});
  const std::string w = b.initializer("w", random_floats({3, 3}, 1));
  add(b, b.node("MatMul", {x, w}), w);
  b.output("out", DType::float32, {batch, 3});
  return b.bytes();
}

}  // namespace

TEST_CASE("batch normalization in training mode is refused by its name") {
  const auto net = network([](ModelBuilder& b, const std::string& y, const std::string&) {
    b.node(
        "BatchNormalization", "",
        {y, b.initializer("scale", random_floats({3}, 2)),
         b.initializer("bias", random_floats({3}, 3)), b.initializer("mean", random_floats({3}, 4)),
         b.initializer("variance", random_floats({3}, 5, 1, 2))},
        {"out"});
  });
  CHECK_THROWS_WITH(prepare(net, squares()),
                    Contains("'out' (BatchNormalization)") && Contains("--no-training-mode"));
  PrepareOptions fixed = squares();
  fixed.training_mode = false;
  CHECK_NOTHROW(prepare(net, fixed));
}

TEST_CASE("an operator that mixes rows is refused by its name") {
  const auto net = network([](ModelBuilder& b, const std::string& y, const std::string&) {
    const std::string mean =
        b.node("ReduceMean", {y}, {{"axes", std::vector<std::int64_t>{0}}}, "batch_mean");
    b.node("Sub", {y, mean}, {}, "out");
  });
  CHECK_THROWS_WITH(prepare(net, squares()),
                    Contains("'batch_mean' (ReduceMean)") && Contains("mixes"));
}

TEST_CASE("a parameter that two nodes read is refused by its name and theirs") {
  const auto net = network([](ModelBuilder& b, const std::string& y, const std::string& w) {
    b.node("MatMul", {y, w}, {}, "out");
  });
  CHECK_THROWS_WITH(prepare(net, squares()), Contains("'w'") && Contains("'out' (MatMul)"));
}

TEST_CASE("a parameter without a norm for single rows is refused by its name and operator") {
  const auto net = network([](ModelBuilder& b, const std::string& y, const std::string&) {
    b.node("Pow", {y, b.initializer("power", random_floats({3}, 2, 1, 2))}, {}, "out");
  });
  PrepareOptions options = squares();
  options.train = {"w", "power"};
  CHECK_THROWS_WITH(prepare(net, options), Contains("'power'") && Contains("'out' (Pow)"));
}

TEST_CASE("batches of one size are refused") {
  const auto net = network([](ModelBuilder& b, const std::string& y,
                              const std::string&) { b.node("Identity", {y}, {}, "out"); },
                           std::int64_t{4});
  CHECK_THROWS_WITH(prepare(net, squares()), Contains("'x'") && Contains("batches of 4 rows"));
}

TEST_CASE("losses and options that depend on the whole batch are refused") {
  const auto refused = [](const auto& change, const char* what) {
    PrepareOptions options = private_options(1, 1, 4);
    change(options);
    CHECK_THROWS_WITH(prepare(two_layers(), options), Contains(what));
  };
  refused([](PrepareOptions& to) { to.loss = Loss::triplet; }, "triplet");
  refused([](PrepareOptions& to) { to.ignore_index = 1; }, "ignored labels");
  refused([](PrepareOptions& to) { to.class_weights = {1, 2, 3}; }, "class weights");
  refused([](PrepareOptions& to) { to.row_weights = true; }, "weights of rows");
  refused([](PrepareOptions& to) { to.accumulate = 2; }, "accumulated");
  refused([](PrepareOptions& to) { to.privacy->batch_size = 0; }, "--dp-batch");
  refused([](PrepareOptions& to) { to.privacy->clip = 0; }, "--dp-clip");
  refused([](PrepareOptions& to) { to.privacy->noise = -1; }, "--dp-noise");
}
