// A model that gets another number of threads plans its calls for that number.
#include <catch2/catch.hpp>
#include <chrono>

#include <ondine/build.h>
#include <ondine/model.h>
#include <ondine/prepare.h>

#include "tests/support/random_tensor.h"
#include "tests/support/thread_count.h"

namespace ondine::test {
namespace {

constexpr std::int64_t rows = 512;
constexpr std::int64_t width = 256;

std::vector<std::byte> network() {
  ModelBuilder b("network", 17);
  b.input("x", DType::float32, {"N", width});
  b.node("MatMul", {"x", b.initializer("w", random_floats({width, width}, 1))}, {}, "h");
  b.node("Tanh", {"h"}, {}, "y");
  b.output("y", DType::float32, {"N", width});
  return b.bytes();
}

const NamedValues feeds{{"x", random_floats({rows, width}, 2)}};
const NamedValues batch{{"x", random_floats({rows, width}, 2)},
                        {"label", random_floats({rows, width}, 3)}};

}  // namespace

// How much more several threads take depends on the processor.
TEST_CASE("calls are planned anew for another number of threads") {
  const auto inference_bytes = [](const Model& model) {
    model.infer(feeds);
    return model.plan(feeds, std::nullopt, {}).arena_bytes;
  };
  const auto inference = [](int threads) { return Model::load(network(), {.threads = threads}); };
  Model plain = inference(1);
  const std::uint64_t one = inference_bytes(plain);
  plain.set_threads(8);
  CHECK(inference_bytes(plain) == inference_bytes(inference(8)));
  CHECK(inference_bytes(plain) >= one);
  plain.set_threads(1);
  CHECK(inference_bytes(plain) == one);

  const auto trained = [](int threads) {
    return prepare(network(), {.loss = Loss::mse}, {.threads = threads});
  };
  const auto training_bytes = [&](Model& model) {
    model.train_step(batch);
    model.eval_step(batch);
    return model.plan(batch, 0, {}).arena_bytes;
  };
  Model model = trained(1);
  const std::uint64_t step = training_bytes(model);
  const std::uint64_t within = inference_bytes(model);
  model.set_threads(8);
  Model wide = trained(8);
  CHECK(training_bytes(model) == training_bytes(wide));
  CHECK(training_bytes(model) >= step);
  CHECK(inference_bytes(model) == inference_bytes(wide));
  CHECK(inference_bytes(model) >= within);
}

#ifdef __linux__
TEST_CASE("a number of threads starts as many, and ends those that are too many") {
  const std::ptrdiff_t before = thread_count();
  Model model = Model::load(network(), {.threads = 1});
  CHECK(thread_count() == before);
  model.set_threads(4);
  CHECK(thread_count() == before + 3);  // the caller works too
  model.set_threads(2);
  CHECK(thread_count() == before + 1);
  CHECK_THROWS_WITH(model.set_threads(0), Catch::Contains("at least 1"));
  CHECK(thread_count() == before + 1);
}
#endif

TEST_CASE("a deadline counts for each call until it is taken back") {
  Model model = Model::load(network(), {.threads = 1});
  model.set_deadline(std::chrono::milliseconds(0));
  try {
    model.infer(feeds);
    FAIL("it met a deadline of nothing");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::limit);
  }
  model.set_deadline(std::nullopt);
  CHECK(model.infer(feeds).size() == 1);
}

}  // namespace ondine::test
