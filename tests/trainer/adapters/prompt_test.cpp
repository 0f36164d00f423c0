// Trained rows in front of the embeddings of every text.
#include <catch2/catch.hpp>

#include <ondine/adapters.h>
#include <ondine/error.h>

#include "tests/trainer/adapters/kinds.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

constexpr std::int64_t width = 6;

// Positions are added, every token attends to those before it that the mask has, and each gets
// five scores. `e`: embeddings [N, T, 6]; `like`: a value [N, T] or longer.
std::string scores(ModelBuilder& b, const std::string& e, const std::string& like) {
  const auto weight = [&](const char* name, const Shape& shape, std::uint64_t seed) {
    return b.initializer(name, random_floats(shape, seed, -0.8F, 0.8F));
  };
  const auto integer = [&](const char* name, std::int64_t value, bool is_scalar) {
    Tensor one(DType::int64, is_scalar ? Shape{} : Shape{1});
    one.mutable_values<std::int64_t>()[0] = value;
    return b.initializer(name, one);
  };
  const std::string size = b.node("Gather", {b.node("Shape", {like}), integer("one", 1, true)});
  const std::string places =
      b.node("Range", {integer("zero", 0, true), size, integer("step", 1, true)});
  std::string x =
      b.node("Add", {e, b.node("Gather", {weight("positions", {16, width}, 11), places})});
  const std::string rows = b.node("Unsqueeze", {places, integer("rows", 1, false)});
  const std::string cols = b.node("Unsqueeze", {places, integer("cols", 0, false)});
  const std::string later = b.node("Greater", {cols, rows});
  const std::string hidden = b.node(
      "Equal",
      {b.node("Unsqueeze", {"mask", integer("mid", 1, false)}), integer("nothing", 0, true)});
  const std::string bound = b.initializer("bound", random_floats({}, 1, -1e4F, -1e4F));
  std::string match = b.node(
      "MatMul", {x, b.node("Transpose", {x}, {{"perm", std::vector<std::int64_t>{0, 2, 1}}})});
  match = b.node("Where", {b.node("Or", {later, hidden}), bound, match});
  x = b.node("Tanh", {b.node("MatMul", {b.node("Softmax", {match}, {{"axis", -1L}}), x})});
  return b.node("MatMul", {x, weight("scores.weight", {width, 5}, 12)});
}

const Shape table{11, width};

std::vector<std::byte> language_network(bool whole = true, bool extra = false) {
  ModelBuilder b("language", 17);
  b.input("ids", DType::int64, {"N", "T"});
  b.input("mask", DType::int64, {"N", "T"});
  const std::string e =
      b.node("Gather", {b.initializer("words.weight", random_floats(table, 10, -1, 1)), "ids"});
  const std::string y = scores(b, e, "ids");
  if (extra) b.output(b.node("Neg", {"ids"}), DType::int64, {"N", "T"});
  if (whole) {
    b.node("Identity", {y}, {}, "logits");
    b.output("logits", DType::float32, {"N", "T", 5});
  } else {
    b.node("ReduceMax", {y}, {{"axes", std::vector<std::int64_t>{1}}, {"keepdims", 0L}}, "logits");
    b.output("logits", DType::float32, {"N", 5});
  }
  return b.bytes();
}

PrepareOptions with_prompt(std::int64_t tokens = 3) {
  PrepareOptions options;
  options.optimizer = Adam{.learning_rate = 0.05F};
  options.prompt = PromptTuning{tokens};
  return options;
}

NamedValues marked_texts(bool whole = true) {
  NamedValues feeds = texts();
  Tensor mask(DType::int64, {6, 4});
  for (std::size_t i = 0; i < 24; ++i) mask.mutable_values<std::int64_t>()[i] = i % 4 < 3 ? 1 : 0;
  feeds.insert(feeds.begin() + 1, {"mask", mask});
  if (!whole) return feeds;
  Tensor labels(DType::int64, {6, 4});
  for (std::size_t i = 0; i < 24; ++i) {
    labels.mutable_values<std::int64_t>()[i] = static_cast<std::int64_t>(i * 7 % 5);
  }
  feeds[2].second = labels;
  return feeds;
}

std::vector<float> result_of(const Model& model, const NamedValues& feeds) {
  const auto results = model.infer({feeds[0], feeds[1]});
  const auto values = results[0].second.tensor().values<float>();
  return {values.begin(), values.end()};
}

// Expected scores: a network with embeddings as an input reads the prompt and the rows of the
// table.
std::vector<float> expected(const Tensor& prompt, const NamedValues& feeds) {
  ModelBuilder b("whole", 17);
  b.input("e", DType::float32, {"N", "T", width});
  b.input("mask", DType::int64, {"N", "T"});
  b.output(scores(b, "e", "e"), DType::float32, {"N", "T", 5});
  const Tensor words = random_floats(table, 10, -1, 1);
  const auto tokens = static_cast<std::size_t>(prompt.shape()[0]);
  const auto size = static_cast<std::size_t>(width);
  Tensor e(DType::float32, {6, prompt.shape()[0] + 4, width});
  Tensor mask(DType::int64, {6, prompt.shape()[0] + 4});
  const auto to = e.mutable_values<float>();
  const auto ids = feeds[0].second.tensor().values<std::int64_t>();
  for (std::size_t n = 0; n < 6; ++n) {
    for (std::size_t t = 0; t < tokens + 4; ++t) {
      const std::size_t place = n * (tokens + 4) + t;
      const bool is_new = t < tokens;
      const std::size_t row = is_new ? t : static_cast<std::size_t>(ids[n * 4 + t - tokens]);
      mask.mutable_values<std::int64_t>()[place] =
          is_new ? 1 : feeds[1].second.tensor().values<std::int64_t>()[n * 4 + t - tokens];
      for (std::size_t d = 0; d < size; ++d) {
        to[place * size + d] = (is_new ? prompt : words).values<float>()[row * size + d];
      }
    }
  }
  const auto results = Model::load(b.bytes()).infer({{"e", e}, {"mask", mask}});
  std::vector<float> scores_of_texts;
  const auto values = results[0].second.tensor().values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i / 5 % (tokens + 4) >= tokens) scores_of_texts.push_back(values[i]);
  }
  return scores_of_texts;
}

}  // namespace

TEST_CASE("a prompt stands in front of the texts, and positions and masks follow") {
  Model model = prepare(language_network(), with_prompt());
  CHECK(model.get_state("prompt_embeddings").shape() == Shape{3, width});
  const NamedValues feeds = marked_texts();
  const std::vector<float> first = result_of(model, feeds);
  CHECK(first.size() == 6 * 4 * 5);
  CHECK(distance(first, expected(model.get_state("prompt_embeddings"), feeds)) < 1e-5);
  const double before = model.train_step(feeds).scalar("loss");
  for (int i = 0; i < 20; ++i) model.train_step(feeds);
  CHECK(model.train_step(feeds).scalar("loss") < before);
  const std::vector<float> tuned = result_of(model, feeds);
  CHECK(distance(tuned, expected(model.get_state("prompt_embeddings"), feeds)) < 1e-5);
  CHECK(distance(first, tuned) > 0.01);
  const Model exported = Model::load(model.export_inference());
  CHECK(distance(tuned, result_of(exported, feeds)) < 1e-6);
  REQUIRE(adapters(exported).size() == 1);
  CHECK(adapters(exported)[0].kind == AdapterKind::prompt);
}

TEST_CASE("a prompt trains scores of whole texts, too") {
  const auto network = language_network(false);
  Model model = prepare(network, with_prompt());
  const NamedValues feeds = marked_texts(false);
  const double before = model.train_step(feeds).scalar("loss");
  for (int i = 0; i < 20; ++i) model.train_step(feeds);
  CHECK(model.train_step(feeds).scalar("loss") < before);
}

TEST_CASE("derivatives by a prompt are those of differences") {
  check_gradients(language_network(), with_prompt(), marked_texts());
}

TEST_CASE("initialization draws a prompt with the deviation of the table") {
  Model model = prepare(language_network(), with_prompt(500));
  model.initialize(5);
  const Tensor rows = model.get_state("prompt_embeddings");
  double squares = 0;
  for (const float one : rows.values<float>()) squares += static_cast<double>(one) * one;
  CHECK(std::sqrt(squares / 3000) == Approx(1 / std::sqrt(3.0)).epsilon(0.1));
}

TEST_CASE("networks in which more than the texts depends on token ids are refused") {
  const auto refusal = [](const std::vector<std::byte>& network, const PrepareOptions& options) {
    try {
      prepare(network, options);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK_THAT(refusal(three_layers(), with_prompt()), Contains("no input of token ids"));
  CHECK_THAT(refusal(language_network(true, true), with_prompt()),
             Contains("an operator Neg that computes with them"));
  CHECK_THAT(refusal(language_network(), with_prompt(0)), Contains("a prompt has 0 tokens"));
  const auto with_input = [&](const char* name, std::vector<ModelBuilder::Dim> dims) {
    ModelBuilder b("more", 17);
    b.input("ids", DType::int64, {"N", "T"});
    b.input(name, DType::float32, std::move(dims));
    std::string x = b.node("Gather", {b.initializer("words", random_floats(table, 1)), "ids"});
    x = b.node("ReduceMean", {x}, {{"axes", std::vector<std::int64_t>{1}}, {"keepdims", 0L}});
    const std::string sum = b.node("ReduceSum", {name});
    x = b.node("Add", {x, sum});
    b.output(x, DType::float32, {"N", width});
    return b.bytes();
  };
  CHECK_THAT(refusal(with_input("weights", {"N", "T"}), with_prompt()),
             Contains("for new ones are not known: 'weights'"));
  CHECK_THAT(refusal(with_input("past_key", {"N", "P"}), with_prompt()), Contains("'past_key'"));
  ModelBuilder b("fixed", 17);
  b.input("ids", DType::int64, {"N", 4});
  b.output(b.node("Gather", {b.initializer("words", random_floats(table, 1)), "ids"}),
           DType::float32, {"N", 4, width});
  CHECK_THAT(refusal(b.bytes(), with_prompt()), Contains("[N, T] with any number T"));
}
