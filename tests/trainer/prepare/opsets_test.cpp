// Every loss can be written for every opset from 7 on, and trains as at the newest.
#include <catch2/catch.hpp>
#include <functional>

#include <ondine/build.h>
#include <ondine/error.h>
#include <ondine/prepare.h>

#include "tests/support/random_tensor.h"

using namespace ondine;
using namespace ondine::test;

namespace {

constexpr auto old_opsets = {7, 8, 9, 10, 11};

Tensor sized(const Shape& shape, std::uint64_t seed) { return random_floats(shape, seed); }

// y = end(x w + b)
std::vector<std::byte> network(const std::string& end, std::int64_t opset) {
  ModelBuilder b("network", opset);
  const std::string x = b.input("x", DType::float32, {"N", 4});
  const std::string w = b.initializer("w", sized({4, 3}, 1));
  b.node("Gemm", {x, w, b.initializer("b", sized({3}, 2))}, {}, "h");
  b.node(end, {"h"}, {}, "y");
  b.output("y", DType::float32, {"N", 3});
  return b.bytes();
}

struct Trained {
  std::vector<double> losses;
  std::vector<double> accuracies;
  std::vector<float> parameters;
};

Trained train(const std::vector<std::byte>& model, const PrepareOptions& options,
              const NamedValues& batch) {
  Model trained = prepare(model, options);
  Trained result;
  for (int i = 0; i < 4; ++i) {
    const Results step = trained.train_step(batch);
    result.losses.push_back(step.scalar("loss"));
    if (options.loss == Loss::softmax_cross_entropy || options.loss == Loss::nll) {
      result.accuracies.push_back(step.scalar("accuracy"));
    }
  }
  result.parameters = trained.parameters();
  return result;
}

void check_same(const Trained& found, const Trained& wanted) {
  for (std::size_t i = 0; i < wanted.losses.size(); ++i) {
    CHECK(found.losses[i] == Approx(wanted.losses[i]).epsilon(1e-5));
  }
  CHECK(found.accuracies == wanted.accuracies);
  REQUIRE(found.parameters.size() == wanted.parameters.size());
  for (std::size_t i = 0; i < wanted.parameters.size(); ++i) {
    CHECK(found.parameters[i] == Approx(wanted.parameters[i]).epsilon(1e-4).margin(1e-6));
  }
  CHECK(wanted.losses.back() < wanted.losses.front());
}

// Checks that old opsets train a network as opset 17 does, for which the loss is an operator of the
// standard.
void check_loss(Loss loss, const std::string& end, const Tensor& label) {
  const PrepareOptions options{.loss = loss, .optimizer = Sgd{.learning_rate = 0.1F}};
  const NamedValues batch{{"x", sized({5, 4}, 3)}, {"label", label}};
  const Trained wanted = train(network(end, 17), options, batch);
  for (const int opset : old_opsets) {
    INFO("opset " << opset);
    check_same(train(network(end, opset), options, batch), wanted);
  }
}

Tensor classes() { return Tensor::of<std::int64_t>({5}, {0, 1, 2, 1, 0}); }

}  // namespace

TEST_CASE("losses of class labels train at old opsets as at new ones") {
  check_loss(Loss::softmax_cross_entropy, "Identity", classes());
  check_loss(Loss::softmax_cross_entropy, "Softmax", classes());
  check_loss(Loss::nll, "Softmax", classes());
}

TEST_CASE("losses of numbers train at old opsets as at new ones") {
  const Tensor bits = Tensor::of<float>({5, 3}, {0, 1, 1, 0, 1, 0, 0, 0, 1, 1, 1, 0, 0, 1, 0});
  check_loss(Loss::bce_with_logits, "Sigmoid", bits);
  check_loss(Loss::bce_probabilities, "Sigmoid", bits);
  for (const Loss loss : {Loss::mse, Loss::mae, Loss::huber}) {
    check_loss(loss, "Identity", sized({5, 3}, 4));
  }
}

TEST_CASE("every optimizer and a bound of the gradient can be written for opset 7") {
  const NamedValues batch{{"x", sized({5, 4}, 3)}, {"label", classes()}};
  for (const Optimizer& optimizer :
       {Optimizer(Sgd{}), Optimizer(Momentum{}), Optimizer(Nesterov{}), Optimizer(Adagrad{}),
        Optimizer(Adam{}), Optimizer(AdamW{}), Optimizer(Lion{.weight_decay = 0.1F}),
        Optimizer(Adafactor{.weight_decay = 0.1F}),
        Optimizer(ScheduleFree{.weight_decay = 0.1F})}) {
    PrepareOptions options{.optimizer = optimizer};
    options.clip_norm = 0.5F;
    check_same(train(network("Identity", 7), options, batch),
               train(network("Identity", 17), options, batch));
  }
}

TEST_CASE("a label for each position is read at old opsets") {
  const auto segmenter = [](std::int64_t opset) {
    ModelBuilder b("segmenter", opset);
    const std::string x = b.input("x", DType::float32, {"N", 2, 6});
    b.node("Conv", {x, b.initializer("w", sized({3, 2, 1}, 1))}, {}, "y");
    b.output("y", DType::float32, {"N", 3, 6});
    return b.bytes();
  };
  const NamedValues batch{{"x", sized({2, 2, 6}, 3)},
                          {"label", Tensor::of<std::int64_t>({2, 6}, {0, 1, 2, 0, 1, 2,  //
                                                                      2, 2, 1, 0, 0, 1})}};
  const PrepareOptions options{.optimizer = Sgd{.learning_rate = 0.1F}};
  const Trained wanted = train(segmenter(13), options, batch);
  for (const int opset : old_opsets) check_same(train(segmenter(opset), options, batch), wanted);
}

TEST_CASE("a label that is no class fails at old opsets, too") {
  for (const int opset : old_opsets) {
    INFO("opset " << opset);
    Model model = prepare(network("Identity", opset));
    const std::vector<float> before = model.parameters();
    for (const std::int64_t wrong : {-1, -3, 3, 100}) {
      const NamedValues batch{{"x", sized({2, 4}, 3)},
                              {"label", Tensor::of<std::int64_t>({2}, {1, wrong})}};
      CHECK_THROWS_AS(model.train_step(batch), Error);
    }
    CHECK(model.parameters() == before);
  }
}

TEST_CASE("the number of classes need not be known from opset 9 on") {
  const auto scaled = [](std::int64_t opset) {
    ModelBuilder b("scaled", opset);
    const std::string x = b.input("x", DType::float32, {"N", "K"});
    b.node("Mul", {x, b.initializer("w", Tensor::of<float>({1}, {0.5F}))}, {}, "y");
    b.output("y", DType::float32, {"N", "K"});
    return b.bytes();
  };
  const NamedValues batch{{"x", sized({5, 3}, 3)}, {"label", classes()}};
  const PrepareOptions options{.optimizer = Sgd{.learning_rate = 0.1F}, .train = {"w"}};
  const Trained wanted = train(scaled(13), options, batch);
  for (const int opset : {9, 10, 11}) check_same(train(scaled(opset), options, batch), wanted);
  CHECK_THROWS_WITH(prepare(scaled(8), options), Catch::Contains("how many classes"));
}
