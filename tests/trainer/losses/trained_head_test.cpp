// The loss of a model whose head trains, of its own or tied to the table of words, never has all
// scores in memory.
#include <ondine/build.h>
#include <ondine/error.h>
#include <ondine/model.h>
#include <ondine/prepare.h>

#include <catch2/catch.hpp>

#include "tests/support/fusions_run.h"
#include "tests/support/op_harness.h"

namespace ondine::test {
namespace {

constexpr std::int64_t words = 8200;
constexpr std::int64_t width = 128;  // just enough for the head to be large
constexpr std::int64_t length = 300;

enum class Head { apart, transposed, tied };

struct Decoder {
  Head head = Head::tied;
  bool scaled = false;  // a factor between head and loss
  DType dtype = DType::float32;

  Tensor weights(const Shape& shape, std::uint64_t seed) const {
    Tensor single = random_floats(shape, seed, -0.3F, 0.3F);
    if (dtype == DType::float32) return single;
    Tensor wide(dtype, shape);
    std::ranges::copy(single.values<float>(), wide.mutable_values<double>().begin());
    return wide;
  }

  Model prepared(const PrepareOptions& options, const LoadOptions& load = {}) const {
    ModelBuilder b("decoder");
    const std::string ids = b.input("ids", DType::int64, {"N", "T"});
    const std::string table = b.initializer("table", weights({words, width}, 1));
    const std::string w = b.initializer("w", weights({width, width}, 2));
    const std::string x = b.node("Tanh", {b.node("MatMul", {b.node("Gather", {table, ids}), w})});
    std::string matrix = table;
    if (head == Head::apart) matrix = b.initializer("head", weights({width, words}, 3));
    if (head == Head::transposed) matrix = b.initializer("head", weights({words, width}, 3));
    if (head != Head::apart) {
      matrix = b.node("Transpose", {matrix}, {{"perm", std::vector<std::int64_t>{1, 0}}});
    }
    std::string scores = b.node("MatMul", {x, matrix});
    if (scaled) scores = b.node("Tanh", {scores});
    b.node("Identity", {scores}, {}, "scores");
    b.output("scores", dtype, {"N", "T", words});
    return prepare(b.bytes(), options, load);
  }
};

// Every fourth position has a label where `some` says so.
NamedValues feeds(bool some) {
  Tensor ids(DType::int64, {2, length / 2});
  Tensor labels(DType::int64, {2, length / 2});
  for (std::int64_t i = 0; i < length; ++i) {
    const auto at = static_cast<std::size_t>(i);
    ids.mutable_values<std::int64_t>()[at] = i * 37 % words;
    labels.mutable_values<std::int64_t>()[at] = some && i % 4 != 0 ? -100 : (i * 11 + 5) % words;
  }
  return {{"ids", ids}, {"label", labels}};
}

PrepareOptions options(const Optimizer& optimizer) {
  PrepareOptions result;
  result.ignore_index = -100;
  result.class_axis = -1;
  result.init = WeightInit::keep;
  result.optimizer = optimizer;
  return result;
}

LoadOptions whole_scores(LoadOptions load = {}) {
  load.no_fusion = fusions_from_name("recognize_projected_loss");
  return load;
}

const std::vector<std::string> loss_alone{"loss"};

std::string matrix_of(const Decoder& decoder) {
  return decoder.head == Head::tied ? "table" : "head";
}

// Three steps of both; returns whether the plan of the first has less memory.
void check_same_steps(const Decoder& decoder, const PrepareOptions& prepared, bool some,
                      double close, const LoadOptions& load = {}) {
  Model model = decoder.prepared(prepared, load);
  Model whole = decoder.prepared(prepared, whole_scores(load));
  const NamedValues fed = feeds(some);
  CHECK(model.plan(fed, 0, loss_alone).arena_bytes < whole.plan(fed, 0, loss_alone).arena_bytes);
  for (int i = 0; i < 3; ++i) {
    CHECK(model.train_step(fed).scalar("loss") ==
          Approx(whole.train_step(fed).scalar("loss")).epsilon(close));
  }
  for (const std::string& name : {matrix_of(decoder), std::string("w")}) {
    check_close(model.get_state(name), whole.get_state(name), {close, close});
  }
}

constexpr Head heads[] = {Head::apart, Head::transposed, Head::tied};

}  // namespace

TEST_CASE("a head that trains gives loss and updates of all scores without having them") {
  if (!fusions_run()) return;
  const std::vector<Optimizer> optimizers{Sgd{.learning_rate = 0.5F}, AdamW{.learning_rate = 1e-3F},
                                          Momentum{.learning_rate = 0.1F}};
  for (const Head head : heads) {
    for (std::size_t i = 0; i < optimizers.size(); ++i) {
      INFO("head " << static_cast<int>(head) << ", optimizer " << i);
      check_same_steps({head}, options(optimizers[i]), i == 0, 1e-4);
    }
  }
}

TEST_CASE("a head that trains gives the numbers of all scores in double") {
  if (!fusions_run()) return;
  for (const Head head : heads) {
    INFO("head " << static_cast<int>(head));
    check_same_steps({head, false, DType::float64}, options(Sgd{.learning_rate = 0.5F}), true,
                     1e-9);
  }
}

TEST_CASE("a head that trains keeps to bfloat16, clipping and accumulation") {
  if (!fusions_run()) return;
  LoadOptions rounded;
  rounded.precision = Precision::bfloat16;
  check_same_steps({Head::tied}, options(Sgd{.learning_rate = 0.5F}), true, 2e-2, rounded);
  PrepareOptions clipped = options(AdamW{.learning_rate = 1e-3F});
  clipped.clip_norm = 0.1F;
  check_same_steps({Head::apart}, clipped, false, 1e-4);
  PrepareOptions accumulated = options(AdamW{.learning_rate = 1e-3F});
  accumulated.accumulate = 2;
  check_same_steps({Head::tied}, accumulated, true, 1e-4);
}

TEST_CASE("a head that trains gives the same bits for any number of threads") {
  for (const Head head : {Head::apart, Head::tied}) {
    LoadOptions two;
    two.threads = 2;
    const Decoder decoder{head};
    Model one = decoder.prepared(options(AdamW{}));
    Model other = decoder.prepared(options(AdamW{}), two);
    for (int i = 0; i < 2; ++i) {
      CHECK(one.train_step(feeds(true)).scalar("loss") ==
            other.train_step(feeds(true)).scalar("loss"));
    }
    check_close(one.get_state(matrix_of(decoder)), other.get_state(matrix_of(decoder)), {0, 0});
  }
}

TEST_CASE("a head that trains without a label gives the loss and updates of all scores") {
  if (!fusions_run()) return;
  NamedValues none = feeds(true);
  Tensor labels(DType::int64, {2, length / 2});
  std::ranges::fill(labels.mutable_values<std::int64_t>(), -100);
  none[1].second = labels;
  const Decoder decoder{Head::tied};
  Model model = decoder.prepared(options(AdamW{.weight_decay = 0.1F}));
  Model whole = decoder.prepared(options(AdamW{.weight_decay = 0.1F}), whole_scores());
  CHECK(model.train_step(none).scalar("loss") == whole.train_step(none).scalar("loss"));
  check_close(model.get_state("table"), whole.get_state("table"), {0, 0});
}

TEST_CASE("a head with a function between scores and loss, and a small one, have all scores") {
  if (!fusions_run()) return;
  constexpr std::uint64_t score_bytes = std::uint64_t{length} * words * sizeof(float);
  const auto arena = [&](const Decoder& decoder) {
    return decoder.prepared(options(Sgd{})).plan(feeds(true), 0, loss_alone).arena_bytes;
  };
  CHECK(arena({Head::tied}) < score_bytes);
  CHECK(arena({Head::tied, true}) > score_bytes);
}

}  // namespace ondine::test
