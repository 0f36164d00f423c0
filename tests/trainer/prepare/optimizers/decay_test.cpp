// Which parameters the weight decay acts on.
#include <catch2/catch.hpp>

#include <ondine/build.h>
#include <ondine/error.h>

#include "tests/trainer/prepare/optimizers/reference.h"

using namespace ondine;
using namespace ondine::test::optimizers;
using Catch::Contains;

namespace {

const Network network{{4, 6, 3}};

double rounded(float value) { return static_cast<double>(value); }

// Gradient descent with a factor of the decay for each variable.
Rule descent(double rate, double decay, const Numbers& factors, bool is_decoupled) {
  std::vector<AdamState> states;
  return [=](Variables& variables, double t, const Network& net) mutable {
    const auto gradients = net.gradients(variables);
    states.resize(variables.size());
    for (std::size_t v = 0; v < variables.size(); ++v) {
      const double own = decay * factors[v];
      if (is_decoupled) {
        adamw_step(variables[v], gradients[v], t, states[v], rate, own, rounded(0.9F),
                   rounded(0.999F), rounded(1e-8F));
        continue;
      }
      Numbers& w = variables[v].w;
      for (std::size_t i = 0; i < w.size(); ++i) w[i] -= rate * (gradients[v][i] + own * w[i]);
    }
  };
}

void check(PrepareOptions options, const Numbers& factors) {
  options.optimizer = Sgd{.learning_rate = 0.0625F, .weight_decay = 0.5F};
  check_rule(network, options, descent(0.0625, 0.5, factors, false));
  options.optimizer = AdamW{.learning_rate = 0.0625F, .weight_decay = 0.5F};
  check_rule(network, options, descent(0.0625, 0.5, factors, true));
}

// One head of attention over the tokens of x, with a bias, or the same without a softmax.
std::vector<std::byte> attention_model(bool attends) {
  ModelBuilder b("attention");
  b.input("x", DType::float32, {"N", 5, 4});
  Tensor matrix(DType::float32, {4, 4});
  for (std::size_t i = 0; i < 16; ++i) matrix.mutable_values<float>()[i] = 0.1F * float(i % 5);
  const auto project = [&](const std::string& name) {
    const std::string y = b.node("MatMul", {"x", b.initializer(name + ".w", matrix)});
    return b.node("Add", {y, b.initializer(name + ".b", Tensor(DType::float32, {4}))});
  };
  const std::string keys =
      b.node("Transpose", {project("k")}, {{"perm", std::vector<std::int64_t>{0, 2, 1}}});
  const std::string scores = b.node("MatMul", {project("q"), keys});
  const std::string weights = attends ? b.node("Softmax", {scores}) : scores;
  b.node("MatMul", {b.node("Dropout", {weights}), project("v")}, {}, "y");
  b.output("y", DType::float32, {"N", 5, 4});
  return b.bytes();
}

PrepareReport report_of(const std::vector<std::byte>& model, const PrepareOptions& options) {
  PrepareReport report;
  prepare(model, options, {}, &report);
  return report;
}

std::string decay_of(const std::vector<std::byte>& model, PrepareOptions options) {
  options.loss = Loss::mse;
  return report_of(model, options).weight_decay;
}

}  // namespace

TEST_CASE("the weight decay acts on all parameters, on matrices or by factors of patterns") {
  check({}, {1, 1, 1, 1});
  check({.decayed = DecayedParameters::matrices}, {1, 0, 1, 0});
  check({.decay_groups = {{"w*", 0.5F}, {"*1", 0.25F}}}, {0.5, 1, 0.125, 0.25});
  // A pattern decides also about what would not decay.
  check({.decayed = DecayedParameters::matrices, .decay_groups = {{"b0", 1}, {"w1", 0}}},
        {1, 1, 0, 0});
}

TEST_CASE(
    "vectors of a transformer do not decay unless they are asked to, and the report says so") {
  const PrepareOptions decaying{.loss = Loss::mse, .optimizer = AdamW{.weight_decay = 0.25F}};
  PrepareOptions options = decaying;
  CHECK(decay_of(attention_model(true), options) == "0.25 on 3 parameters, none on 3 vectors");
  CHECK(report_of(attention_model(true), options).weight_decay_reason ==
        "they are taken for norms and biases of a transformer, as the model has attention");
  CHECK(decay_of(attention_model(false), options) == "0.25 on 6 parameters");
  options.decayed = DecayedParameters::all;
  CHECK(decay_of(attention_model(true), options) == "0.25 on 6 parameters");
  options = decaying;
  options.decay_groups = {{"q.*", 0.5F}};
  CHECK_THAT(decay_of(attention_model(true), options),
             Contains("0.25 on 2 parameters, times factors of their own on 2, none on 2 vectors"));
  options = decaying;
  options.only_biases = true;
  CHECK(decay_of(attention_model(true), options) == "0.25 on 3 parameters");
  CHECK(decay_of(attention_model(true), {.optimizer = AdamW{}}).empty());
}

TEST_CASE("settings of the weight decay without one, or for no parameter, are refused") {
  const auto refused = [](const PrepareOptions& options) {
    PrepareOptions asked = options;
    asked.loss = Loss::mse;
    try {
      prepare(network.model(), asked);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::mismatch);
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK_THAT(refused({.decayed = DecayedParameters::matrices}),
             Contains("(--decay) has no effect without weight decay (--weight-decay)"));
  CHECK_THAT(refused({.decay_groups = {{"w0", 0}}}), Contains("(--decay-scale) has no effect"));
  CHECK_THAT(refused({.optimizer = Sgd{.weight_decay = 0.5F}, .decay_groups = {{"q", 0}}}),
             Contains("weight decay pattern 'q' matches no trained parameter"));
}

TEST_CASE("vectors that are asked not to decay need no reason") {
  const PrepareReport report =
      report_of(attention_model(true), {.loss = Loss::mse,
                                        .optimizer = AdamW{.weight_decay = 0.25F},
                                        .decayed = DecayedParameters::matrices});
  CHECK(report.weight_decay == "0.25 on 3 parameters, none on 3 vectors");
  CHECK(report.weight_decay_reason.empty());
}

TEST_CASE("Muon says which parameters it steps, and needs a hidden matrix") {
  PrepareOptions options{.loss = Loss::mse, .optimizer = Muon{}};
  CHECK(report_of(Network{{4, 7, 5, 3}}.model(), options).rules ==
        "muon on 2 hidden matrices, adamw on 4 vectors, embeddings and parts of the last layer");
  CHECK_THROWS_WITH(prepare(Network{{4, 3}}.model(), options),
                    Contains("muon finds no hidden matrix that trains"));
}

TEST_CASE("Muon leaves tables of embeddings to AdamW") {
  ModelBuilder b("words");
  b.input("ids", DType::int64, {"N"});
  Tensor table(DType::float32, {9, 4});
  Tensor matrix(DType::float32, {4, 4});
  for (std::size_t i = 0; i < 36; ++i) table.mutable_values<float>()[i] = 0.01F * float(i);
  for (std::size_t i = 0; i < 16; ++i) matrix.mutable_values<float>()[i] = 0.1F * float(i % 3);
  const std::string rows = b.node("Gather", {b.initializer("words", table), "ids"});
  const std::string hidden = b.node("Tanh", {b.node("MatMul", {rows, b.initializer("h", matrix)})});
  b.node("MatMul", {hidden, b.initializer("last", matrix)}, {}, "y");
  b.output("y", DType::float32, {"N", 4});
  Model model = prepare(b.bytes(), {.loss = Loss::mse, .optimizer = Muon{}});
  std::vector<std::string> states;
  for (const StateInfo& one : model.state()) {
    if (one.role == StateRole::optimizer_state && one.shape.rank() == 2) states.push_back(one.name);
  }
  std::sort(states.begin(), states.end());
  CHECK(states == std::vector<std::string>{"h.momentum", "last.mean", "last.squares", "words.mean",
                                           "words.squares"});
}
