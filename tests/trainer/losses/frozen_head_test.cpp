// The loss of a model with a frozen head over many classes never has all scores in memory.
#include <ondine/build.h>
#include <ondine/model.h>
#include <ondine/prepare.h>

#include <catch2/catch.hpp>

#include "tests/support/fusions_run.h"
#include "tests/support/op_harness.h"

namespace ondine::test {
namespace {

constexpr std::int64_t words = 3000;
constexpr std::int64_t width = 16;
constexpr std::int64_t length = 200;
constexpr std::uint64_t score_bytes = std::uint64_t{length} * words * sizeof(float);

// Nodes around the product with the head.
enum class Rows { plain, scores_joined, states_joined, states_joined_alone, words_mixed };

// Scores [N, T, words] of ids [N, T], or with joined rows [N T, words]; the head is a matrix of its
// own or the table.
Model decoder(bool tied, const PrepareOptions& options, const LoadOptions& load = {},
              Rows rows = Rows::plain) {
  ModelBuilder b("decoder");
  const std::string ids = b.input("ids", DType::int64, {"N", "T"});
  const std::string table = b.initializer("table", random_floats({words, width}, 1, -0.3F, 0.3F));
  const std::string w = b.initializer("w", random_floats({width, width}, 2, -0.3F, 0.3F));
  std::string x = b.node("Tanh", {b.node("MatMul", {b.node("Gather", {table, ids}), w})});
  const auto shape = [&](const std::string& name, const std::vector<std::int64_t>& sizes) {
    return b.initializer(
        name, Tensor::of<std::int64_t>({static_cast<std::int64_t>(sizes.size())}, sizes));
  };
  if (rows == Rows::states_joined || rows == Rows::states_joined_alone) {
    x = b.node("Reshape", {x, shape("flat", {-1, width})});
  }
  const std::string head =
      tied ? b.node("Transpose", {table}, {{"perm", std::vector<std::int64_t>{1, 0}}})
           : b.initializer("head", random_floats({width, words}, 3, -0.3F, 0.3F));
  std::string scores = b.node("MatMul", {x, head});
  if (rows == Rows::scores_joined) {
    scores = b.node("Reshape", {scores, shape("joined", {-1, words})});
  } else if (rows == Rows::states_joined) {
    scores = b.node("Reshape", {scores, shape("apart", {-1, length, words})});
  } else if (rows == Rows::words_mixed) {
    scores = b.node("Reshape", {scores, shape("mixed", {-1, 2 * words})});
  }
  b.node("Identity", {scores}, {}, "scores");
  if (rows == Rows::plain || rows == Rows::states_joined) {
    b.output("scores", DType::float32, {"N", "T", words});
  } else {
    b.output("scores", DType::float32, {"R", rows == Rows::words_mixed ? 2 * words : words});
  }
  return prepare(b.bytes(), options, load);
}

NamedValues feeds() {
  Tensor ids(DType::int64, {1, length});
  Tensor labels(DType::int64, {1, length});
  for (std::int64_t i = 0; i < length; ++i) {
    ids.mutable_values<std::int64_t>()[static_cast<std::size_t>(i)] = i * 37 % words;
    labels.mutable_values<std::int64_t>()[static_cast<std::size_t>(i)] =
        i % 4 == 0 ? (i * 11 + 5) % words : -100;
  }
  return {{"ids", ids}, {"label", labels}};
}

PrepareOptions options() {
  PrepareOptions result;
  result.ignore_index = -100;
  result.train = {"w"};
  result.init = WeightInit::keep;
  result.optimizer = Sgd{.learning_rate = 1};
  return result;
}

const std::vector<std::string> loss_alone{"loss"};

}  // namespace

TEST_CASE("a frozen head gives the loss of all scores without having them") {
  if (!fusions_run()) return;
  for (const bool tied : {false, true}) {
    for (const Precision precision : {Precision::float32, Precision::bfloat16}) {
      INFO("tied " << tied << ", precision " << static_cast<int>(precision));
      LoadOptions load;
      load.precision = precision;
      Model model = decoder(tied, options(), load);
      load.no_fusion = fusions_from_name("recognize_projected_loss");
      Model whole = decoder(tied, options(), load);
      CHECK(model.plan(feeds(), 0, loss_alone).arena_bytes < score_bytes);
      CHECK(whole.plan(feeds(), 0, loss_alone).arena_bytes > score_bytes);
      const double close = precision == Precision::float32 ? 1e-5 : 2e-2;
      for (int i = 0; i < 3; ++i) {
        CHECK(model.train_step(feeds()).scalar("loss") ==
              Approx(whole.train_step(feeds()).scalar("loss")).epsilon(close));
      }
      check_close(model.get_state("w"), whole.get_state("w"), {close, close});
    }
  }
}

TEST_CASE("a frozen head gives the same bits for any number of threads") {
  LoadOptions two;
  two.threads = 2;
  Model one = decoder(false, options());
  Model other = decoder(false, options(), two);
  for (int i = 0; i < 2; ++i) {
    CHECK(one.train_step(feeds()).scalar("loss") == other.train_step(feeds()).scalar("loss"));
  }
  check_close(one.get_state("w"), other.get_state("w"), {0, 0});
}

TEST_CASE("a frozen head gives the loss of rows that a Reshape joins or splits") {
  if (!fusions_run()) return;
  for (const Rows rows : {Rows::scores_joined, Rows::states_joined, Rows::states_joined_alone}) {
    INFO(static_cast<int>(rows));
    NamedValues fed = feeds();
    if (rows != Rows::states_joined) fed[1].second = fed[1].second.tensor().reshaped({length});
    PrepareOptions prepared = options();
    if (rows == Rows::states_joined) prepared.class_axis = 2;
    LoadOptions load;
    Model model = decoder(false, prepared, load, rows);
    load.no_fusion = fusions_from_name("recognize_projected_loss");
    Model whole = decoder(false, prepared, load, rows);
    CHECK(model.plan(fed, 0, loss_alone).arena_bytes < score_bytes);
    CHECK(whole.plan(fed, 0, loss_alone).arena_bytes > score_bytes);
    for (int i = 0; i < 3; ++i) {
      CHECK(model.train_step(fed).scalar("loss") ==
            Approx(whole.train_step(fed).scalar("loss")).epsilon(1e-5));
    }
    check_close(model.get_state("w"), whole.get_state("w"), {1e-5, 1e-5});
  }
  // Rows of twice as many classes are no rows of the product.
  NamedValues mixed = feeds();
  mixed[1].second = Tensor(DType::int64, {length / 2});
  const Model other = decoder(false, options(), {}, Rows::words_mixed);
  CHECK(other.plan(mixed, 0, loss_alone).arena_bytes > score_bytes);
}

TEST_CASE(
    "scores that something else reads, and a small head that trains, are computed as a whole") {
  if (!fusions_run()) return;
  PrepareOptions asked = options();
  asked.accuracy = true;
  const Model with_accuracy = decoder(false, asked);
  CHECK(with_accuracy.plan(feeds(), 0).arena_bytes > score_bytes);
  Model fetched = decoder(false, options());
  const Results both = fetched.train_step(feeds(), 0, {"loss", "scores"});
  CHECK(both["scores"].tensor().shape() == Shape{1, length, words});
  PrepareOptions all = options();
  all.train = {"w", "head"};
  CHECK(decoder(false, all).plan(feeds(), 0, loss_alone).arena_bytes > score_bytes);
}

}  // namespace ondine::test
