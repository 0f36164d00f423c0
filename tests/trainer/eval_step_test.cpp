// Loss and metrics of a batch in evaluation mode, against values computed here.
#include <atomic>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <map>
#include <thread>

#include <ondine/build.h>
#include <ondine/model.h>
#include <ondine/prepare.h>

#include "tests/support/models.h"
#include "tests/support/random_tensor.h"

using namespace ondine;
using namespace ondine::test;

namespace {

constexpr std::size_t classes = 3;

// x -> Gemm -> BatchNormalization -> Relu -> Dropout -> Gemm -> logits
std::vector<std::byte> network(std::int64_t opset) {
  ModelBuilder b("network", opset);
  std::string x = b.input("x", DType::float32, {"N", 4});
  x = b.node("Gemm", {x, b.initializer("w1", random_floats({4, 5}, 1)),
                      b.initializer("b1", random_floats({5}, 2))});
  x = b.node(
      "BatchNormalization",
      {x, b.initializer("scale", random_floats({5}, 3)),
       b.initializer("shift", random_floats({5}, 4)), b.initializer("mean", random_floats({5}, 5)),
       b.initializer("var", random_floats({5}, 6, 0.5F, 2))},
      {{"epsilon", 1e-3F}});
  x = b.node("Relu", {x});
  if (opset < 12) {
    x = b.node("Dropout", {x}, {{"ratio", 0.5F}});
  } else {
    x = b.node("Dropout", {x, b.initializer("ratio", Tensor::scalar(0.5F))});
  }
  b.node("Gemm",
         {x, b.initializer("w2", random_floats({5, 3}, 7)),
          b.initializer("b2", random_floats({3}, 8))},
         {}, "logits");
  b.output("logits", DType::float32, {"N", 3});
  return b.bytes();
}

Tensor labels(std::int64_t n) {
  Tensor result(DType::int64, {n});
  for (std::int64_t i = 0; i < n; ++i) {
    result.mutable_values<std::int64_t>()[static_cast<std::size_t>(i)] = (i * i) % 3;
  }
  return result;
}

NamedValues batch(std::int64_t n, std::uint64_t seed) {
  return {{"x", random_floats({n, 4}, seed)}, {"label", labels(n)}};
}

struct Metrics {
  double loss = 0;
  double accuracy = 0;
};

Metrics by_hand(const Tensor& logits, const Tensor& label) {
  const auto values = logits.values<float>();
  const auto wanted = label.values<std::int64_t>();
  Metrics sum;
  for (std::size_t row = 0; row < wanted.size(); ++row) {
    const auto scores = values.subspan(row * classes, classes);
    double total = 0;
    std::size_t best = 0;
    for (std::size_t c = 0; c < classes; ++c) {
      total += std::exp(double{scores[c]});
      if (scores[c] > scores[best]) best = c;
    }
    const auto right = static_cast<std::size_t>(wanted[row]);
    sum.loss += std::log(total) - double{scores[right]};
    sum.accuracy += best == right ? 1 : 0;
  }
  const auto n = static_cast<double>(wanted.size());
  return {sum.loss / n, sum.accuracy / n};
}

// The network's logits with the model's present state, in double.
std::vector<double> logits_by_hand(const Model& model, const Tensor& x) {
  std::map<std::string, Tensor> p;
  for (const StateInfo& info : model.state()) p[info.name] = model.get_state(info.name);
  const auto at = [&](const char* name, std::size_t i) {
    return double{p[name].values<float>()[i]};
  };
  std::vector<double> result;
  for (std::size_t row = 0; row < static_cast<std::size_t>(x.shape()[0]); ++row) {
    std::vector<double> h(5);
    for (std::size_t j = 0; j < 5; ++j) {
      h[j] = at("b1", j);
      for (std::size_t k = 0; k < 4; ++k) {
        h[j] += double{x.values<float>()[row * 4 + k]} * at("w1", k * 5 + j);
      }
      h[j] =
          (h[j] - at("mean", j)) / std::sqrt(at("var", j) + 1e-3) * at("scale", j) + at("shift", j);
      h[j] = std::max(h[j], 0.0);
    }
    for (std::size_t c = 0; c < classes; ++c) {
      double sum = at("b2", c);
      for (std::size_t j = 0; j < 5; ++j) sum += h[j] * at("w2", j * classes + c);
      result.push_back(sum);
    }
  }
  return result;
}

std::string bits(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.data()), tensor.bytes()};
}

std::string state_bits(const Model& model) {
  std::string all;
  for (const StateInfo& info : model.state()) all += bits(model.get_state(info.name));
  return all;
}

}  // namespace

TEST_CASE("eval_step gives loss and accuracy of the network as it infers, whatever the opset") {
  const std::int64_t opset = GENERATE(12, 13, 17, 21);
  Model model = prepare(network(opset), {.optimizer = Adam{.learning_rate = 0.05F}});
  for (int round = 0; round < 3; ++round) {
    const NamedValues feeds = batch(7, 100 + static_cast<std::uint64_t>(round));
    const Results results = model.eval_step(feeds);
    CHECK(results.size() == 2);
    const Tensor logits = model.infer({feeds[0]})["logits"].tensor();
    const std::vector<double> want_logits = logits_by_hand(model, feeds[0].second.tensor());
    for (std::size_t i = 0; i < want_logits.size(); ++i) {
      CHECK(double{logits.values<float>()[i]} == Approx(want_logits[i]).epsilon(1e-4).margin(1e-4));
    }
    const Metrics want = by_hand(logits, feeds[1].second.tensor());
    CHECK(results.scalar("loss") == Approx(want.loss).epsilon(1e-5));
    CHECK(results.scalar("accuracy") == Approx(want.accuracy));
    // Running statistics move with every step, so that the next round has others.
    const Tensor before = model.get_state("mean");
    model.train_step(feeds);
    CHECK_FALSE(model.get_state("mean").identical(before));
  }
}

TEST_CASE("eval_step passes inputs through the Dropout that prepare composes for old opsets") {
  const std::int64_t opset = GENERATE(9, 11);
  ModelBuilder b("network", opset);
  const std::string x = b.input("x", DType::float32, {"N", 4});
  const std::string h = b.node("Gemm", {x, b.initializer("w", random_floats({4, 64}, 1)),
                                        b.initializer("b", random_floats({64}, 2))});
  b.node("Dropout", {h}, {{"ratio", 0.5F}}, "y");
  b.output("y", DType::float32, {"N", 64});
  Model model = prepare(b.bytes(), {.loss = Loss::mse});
  const NamedValues feeds{{"x", random_floats({3, 4}, 3)}, {"label", random_floats({3, 64}, 4)}};
  const Tensor y = model.infer({feeds[0]})["y"].tensor();
  double want = 0;
  for (std::size_t i = 0; i < 192; ++i) {
    const double d = double{y.values<float>()[i]} - double{feeds[1].second.tensor().item<float>(i)};
    want += d * d / 192;
  }
  CHECK(model.eval_step(feeds).scalar("loss") == Approx(want).epsilon(1e-5));
  CHECK(std::abs(model.train_step(feeds).scalar("loss") - want) > 0.01 * want);
}

TEST_CASE("eval_step changes nothing and returns the same every time") {
  Model model = Model::load(encode(dropout_classifier()));
  const NamedValues feeds{{"x", random_floats({6, 8}, 9)},
                          {"label", Tensor::of<std::int64_t>({6}, {0, 1, 2, 3, 0, 1})}};
  model.train_step(feeds);
  const std::string before = state_bits(model);
  const double loss = model.eval_step(feeds).scalar("loss");
  for (int i = 0; i < 3; ++i) CHECK(model.eval_step(feeds).scalar("loss") == loss);
  CHECK(state_bits(model) == before);
  CHECK(model.steps() == 1);
  // Dropout by another author, in training mode for good: the same as inference, then the loss.
  const Tensor logits = model.infer({feeds[0]})["logits"].tensor();
  double want = 0;
  for (std::size_t row = 0; row < 6; ++row) {
    double total = 0;
    for (std::size_t c = 0; c < 4; ++c)
      total += std::exp(double{logits.values<float>()[row * 4 + c]});
    const auto right = static_cast<std::size_t>(feeds[1].second.tensor().item<std::int64_t>(row));
    want += (std::log(total) - double{logits.values<float>()[row * 4 + right]}) / 6;
  }
  CHECK(loss == Approx(want).epsilon(1e-5));
}

TEST_CASE("eval_step does not affect the next training step") {
  const auto bytes = network(17);
  Model plain = prepare(bytes, {});
  Model evaluated = prepare(bytes, {});
  for (std::uint64_t i = 0; i < 4; ++i) {
    plain.train_step(batch(5, i));
    evaluated.eval_step(batch(3, 50 + i));
    evaluated.train_step(batch(5, i));
    evaluated.eval_step(batch(5, i));
  }
  CHECK(state_bits(plain) == state_bits(evaluated));
}

TEST_CASE("every loss evaluated during training is that of one version of the state") {
  constexpr int steps = 25;
  const auto bytes = network(17);
  const NamedValues feeds = batch(9, 1000);
  std::map<double, int> version_of;
  Model alone = prepare(bytes, {});
  version_of[alone.eval_step(feeds).scalar("loss")] = 0;
  for (int step = 1; step <= steps; ++step) {
    alone.train_step(batch(6, static_cast<std::uint64_t>(step)));
    version_of[alone.eval_step(feeds).scalar("loss")] = step;
  }
  REQUIRE(version_of.size() == steps + 1);

  Model model = prepare(bytes, {});
  std::atomic<int> wrong{0};
  std::atomic<int> calls{0};
  std::atomic<bool> over{false};
  std::vector<std::thread> readers;
  for (int r = 0; r < 2; ++r) {
    readers.emplace_back([&] {
      int last = 0;
      while (!over.load()) {
        const auto found = version_of.find(model.eval_step(feeds).scalar("loss"));
        if (found == version_of.end() || found->second < last) {
          ++wrong;
        } else {
          last = found->second;
        }
        ++calls;
      }
    });
  }
  for (int step = 1; step <= steps; ++step) {
    model.train_step(batch(6, static_cast<std::uint64_t>(step)), 0, {"loss"});
    for (const int before = calls.load(); calls.load() < before + 2;) std::this_thread::yield();
  }
  over = true;
  for (std::thread& reader : readers) reader.join();
  CHECK(wrong == 0);
}

TEST_CASE("eval_step returns what is asked for, but nothing that depends on a derivative") {
  const Model model = Model::load(encode(linear_regression(0.1F)));
  const NamedValues feeds{{"x", Tensor::of<float>({2, 2}, {1, 2, 3, 4})},
                          {"t", Tensor::of<float>({2, 1}, {1, -1})}};
  const Results defaults = model.eval_step(feeds);
  REQUIRE(defaults.size() == 1);
  CHECK(defaults.scalar("loss") == 3.3125);  // y = [-1.25, -2.25]
  const Results chosen = model.eval_step(feeds, 0, {"y", "loss"});
  CHECK(chosen["y"].tensor().identical(Tensor::of<float>({2, 1}, {-1.25F, -2.25F})));
  CHECK(chosen[1].first == "loss");
  CHECK_THROWS_WITH(model.eval_step(feeds, 0, {"w_new"}),
                    Catch::Contains("no output 'w_new'") && Catch::Contains("'y' 'loss'"));
  CHECK_THROWS_WITH(model.eval_step(feeds, 1), Catch::Contains("no algorithm 1"));
  CHECK_THROWS_WITH(model.eval_step({feeds[0]}), Catch::Contains("'t'"));
  CHECK_THROWS_WITH(model.eval_step({feeds[0], feeds[1], {"u", Tensor::scalar(1.0F)}}),
                    Catch::Contains("'u'"));
}

TEST_CASE("eval_step takes the feeds of a step and needs none that only updates read") {
  graph::ModelDef def = linear_regression(0.1F);
  graph::GraphDef& step = *def.training[0].algorithm;
  step.initializers.clear();
  step.inputs.push_back(tensor_value("rate", DType::float32, {}));
  Model model = Model::load(encode(def));
  const NamedValues feeds{{"x", Tensor::of<float>({1, 2}, {2, 1})},
                          {"t", Tensor::of<float>({1, 1}, {3})},
                          {"rate", Tensor::scalar(0.5F)}};
  CHECK_THROWS_WITH(model.train_step({feeds[0], feeds[1]}), Catch::Contains("'rate'"));
  const double want = (0.25 - 3) * (0.25 - 3);  // y = 2 * 0.5 - 1 + 0.25
  CHECK(model.eval_step({feeds[0], feeds[1]}).scalar("loss") == want);
  CHECK(model.eval_step(feeds).scalar("loss") == want);
}

TEST_CASE("an algorithm of updates alone has nothing to evaluate") {
  graph::ModelDef def = linear_regression(0.1F);
  auto& outputs = def.training[0].algorithm->outputs;
  outputs.erase(outputs.begin());
  const Model model = Model::load(encode(def));
  const NamedValues feeds{{"x", Tensor::of<float>({1, 2}, {2, 1})},
                          {"t", Tensor::of<float>({1, 1}, {3})}};
  CHECK_THROWS_WITH(model.eval_step(feeds), Catch::Contains("nothing to evaluate"));
  CHECK(model.eval_step(feeds, 0, {"y"})["y"].tensor().item<float>() == 0.25F);
}

TEST_CASE("a network that was exported in training mode is evaluated with running statistics") {
  const std::int64_t opset = GENERATE(9, 14, 17);
  graph::ModelDef def;
  def.ir_version = 8;
  def.opsets = {{"", opset}, {"ai.onnx.preview.training", 1}};
  def.graph.name = "main";
  def.graph.inputs = {tensor_value("x", DType::float32, {"N", std::int64_t{2}})};
  def.graph.outputs = {tensor_value("y", DType::float32, {"N", std::int64_t{2}}),
                       tensor_value("mean_next", DType::float32, {std::int64_t{2}}),
                       tensor_value("var_next", DType::float32, {std::int64_t{2}})};
  const auto two = [](float a, float b) { return Tensor::of<float>({2}, {a, b}); };
  def.graph.initializers = {{"s", two(2, 1), "", {}},
                            {"b", two(1, -1), "", {}},
                            {"mean", two(3, 5), "", {}},
                            {"var", two(4, 16), "", {}}};
  graph::Attributes attributes{{"epsilon", 0.0F}, {"momentum", 0.5F}};
  std::vector<std::string> outputs{"y", "mean_next", "var_next"};
  if (opset >= 14) {
    attributes.emplace_back("training_mode", std::int64_t{1});
  } else {
    outputs.insert(outputs.end(), {"saved_mean", "saved_var"});
  }
  def.graph.nodes = {
      node("BatchNormalization", {"x", "s", "b", "mean", "var"}, outputs, attributes)};
  graph::GraphDef step;
  step.name = "step";
  step.nodes = {node("ReduceMean", {"y"}, {"loss"}, {{"keepdims", std::int64_t{0}}})};
  step.outputs = {tensor_value("loss", DType::float32, {})};
  def.training.emplace_back().algorithm = step;
  def.training[0].update_binding = {{"mean", "mean_next"}, {"var", "var_next"}};
  Model model = Model::load(encode(def));
  const NamedValues feeds{{"x", Tensor::of<float>({2, 2}, {5, 1, 7, 9})}};
  // (x - mean) / sqrt(var) * s + b: [3, -2], [5, 0].
  const auto first = model.eval_step(feeds, 0, {"y", "mean_next", "loss"});
  CHECK(first["y"].tensor().identical(Tensor::of<float>({2, 2}, {3, -2, 5, 0})));
  CHECK(first["mean_next"].tensor().identical(two(3, 5)));
  CHECK(first.scalar("loss") == 1.5);
  model.train_step(feeds, 0, {"loss"});
  CHECK(model.get_state("mean").identical(two(4.5F, 5)));  // halfway to the batch's 6 and 5
  const double scale = 2 / std::sqrt(double{model.get_state("var").item<float>()});
  const auto second = model.eval_step(feeds, 0, {"y"});
  CHECK(double{second["y"].tensor().item<float>()} == Approx(0.5 * scale + 1));
}

TEST_CASE("Dropout inside branches and functions is off while evaluating") {
  graph::ModelDef def = linear_regression(0.1F);
  graph::GraphDef& step = *def.training[0].algorithm;
  const auto drop = [](const std::string& in, const std::string& out) {
    return node("Dropout", {in, "half", "on"}, {out});
  };
  SECTION("a branch") {
    graph::GraphDef body;
    body.name = "body";
    body.outputs = {tensor_value("dropped", DType::float32, {"N", std::int64_t{1}})};
    body.nodes = {drop("dd", "dropped")};
    auto shared = std::make_shared<const graph::GraphDef>(body);
    step.nodes[2] = node("ReduceMean", {"chosen"}, {"loss"}, {{"keepdims", std::int64_t{0}}});
    step.nodes.insert(
        step.nodes.begin() + 2,
        node("If", {"on"}, {"chosen"}, {{"then_branch", shared}, {"else_branch", shared}}));
  }
  SECTION("a function") {
    graph::FunctionDef function;
    function.name = "Drop";
    function.domain = "local";
    function.inputs = {"in", "half", "on"};
    function.outputs = {"out"};
    function.opsets = {{"", 18}};
    function.nodes = {drop("in", "out")};
    def.functions = {function};
    def.opsets.push_back({"local", 1});
    step.nodes[2] = node("ReduceMean", {"chosen"}, {"loss"}, {{"keepdims", std::int64_t{0}}});
    step.nodes.insert(step.nodes.begin() + 2,
                      node("Drop", {"dd", "half", "on"}, {"chosen"}, {}, "local"));
  }
  step.initializers.push_back({"half", Tensor::scalar(0.5F), "", {}});
  step.initializers.push_back({"on", Tensor::scalar(true), "", {}});
  Model model = Model::load(encode(def));
  const NamedValues feeds{{"x", Tensor::of<float>({2, 2}, {1, 2, 3, 4})},
                          {"t", Tensor::of<float>({2, 1}, {1, -1})}};
  CHECK(model.eval_step(feeds).scalar("loss") == 3.3125);
}
