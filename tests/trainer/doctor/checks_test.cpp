// Each check of the doctor on values at its bounds.
#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include "tests/support/models.h"
#include "tests/support/op_harness.h"
#include "trainer/doctor/examination.h"

namespace ondine::test {
namespace {

using trainer::Examination;
using trainer::Findings;
using trainer::Step;
using Names = std::vector<std::string>;

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

Tensor floats(const std::vector<float>& values) {
  return Tensor::of<float>({static_cast<std::int64_t>(values.size())}, values);
}
Tensor matrix(const std::vector<float>& values) {
  return Tensor::of<float>({1, static_cast<std::int64_t>(values.size())}, values);
}

// The messages that one check adds.
Names found(void (*check)(const Examination&, Findings&), const Examination& on) {
  Findings findings;
  check(on, findings);
  Names messages;
  for (const Finding& one : findings) messages.push_back(one.message);
  return messages;
}

// An examination of nodes, each with the value of its first output.
struct Steps {
  std::vector<graph::NodeDef> nodes;
  std::vector<std::optional<Tensor>> values;

  Examination examination() const {
    Examination on;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      Step step{&nodes[i], std::vector<std::optional<Tensor>>(nodes[i].outputs.size())};
      if (!step.outputs.empty()) step.outputs[0] = values[i];
      on.steps.push_back(std::move(step));
    }
    return on;
  }
};

Names saturated(const std::string& op, const std::vector<float>& values,
                const std::string& domain = {}) {
  const Steps steps{{node(op, {"x"}, {"a"}, {}, domain)}, {floats(values)}};
  return found(trainer::find_saturated, steps.examination());
}

}  // namespace

TEST_CASE("moments are those of the whole population") {
  const auto moments = trainer::moments_of(floats({1, 2, 3, 6}));
  REQUIRE(moments);
  CHECK(moments->mean == Approx(3));
  CHECK(moments->deviation == Approx(std::sqrt((4 + 1 + 0 + 9) / 4.0)));
  CHECK(moments->min == 1);
  CHECK(moments->max == 6);
  CHECK(moments->finite);
  CHECK_FALSE(trainer::moments_of(floats({1, inf}))->finite);
  CHECK_FALSE(trainer::moments_of(floats({})));
  CHECK_FALSE(trainer::moments_of(Tensor(DType::string, {2})));
}

TEST_CASE("lists name up to five, and of more the first four and how many follow") {
  CHECK(trainer::list_names({"a"}) == "'a'");
  CHECK(trainer::list_names({"a", "b", "c", "d", "e"}) == "'a', 'b', 'c', 'd', 'e'");
  CHECK(trainer::list_names({"a", "b", "c", "d", "e", "f"}) == "'a', 'b', 'c', 'd' and 2 more");
  CHECK(trainer::brief(0.123456) == "0.1235");
  CHECK(trainer::brief(-12345678) == "-1.235e+07");
}

TEST_CASE("a node is described by its name, else by its first output that has one") {
  graph::NodeDef one = node("Relu", {"x"}, {"", "b"});
  CHECK(trainer::describe(one) == "Relu 'b'");
  one.name = "act";
  CHECK(trainer::describe(one) == "Relu 'act'");
  CHECK(trainer::describe(node("Relu", {"x"}, {""})) == "Relu");
}

TEST_CASE("an activation is saturated when more than half of it is within 0.01 of a bound") {
  CHECK(saturated("Tanh", {0.995F, -0.995F, 0, 0.98F}).empty());
  CHECK(saturated("Tanh", {0.995F, -0.995F, 0.992F, 0.98F}) ==
        Names{"Tanh 'a': 75 % of the elements are within 0.01 of a bound"});
  CHECK(saturated("Sigmoid", {0.995F, 0.005F, 0.5F, 0.02F}).empty());
  CHECK(saturated("Sigmoid", {0.995F, 0.005F, 0.5F, 0.001F}) ==
        Names{"Sigmoid 'a': 75 % of the elements are within 0.01 of a bound"});
  CHECK(saturated("HardSigmoid", {0, 1, 1}) ==
        Names{"HardSigmoid 'a': 100 % of the elements are within 0.01 of a bound"});
  CHECK(saturated("Relu", {0, 0, 0}) == Names{"Relu 'a': gives nothing but zeros"});
  CHECK(saturated("Relu", {0, 0, 1e-6F}).empty());
  CHECK(saturated("Relu", {}).empty());
  CHECK(saturated("Softmax", {0, 1, 1}).empty());
  CHECK(saturated("Tanh", {1, 1, 1}, "my.own").empty());
}

TEST_CASE("an element just 0.01 from a bound, or just half of the elements, is not saturated") {
  const auto of = [](const std::string& op, const std::vector<double>& values) {
    const auto size = static_cast<std::int64_t>(values.size());
    const Steps steps{{node(op, {"x"}, {"a"})}, {Tensor::of<double>({size}, values)}};
    return found(trainer::find_saturated, steps.examination()).size();
  };
  const double upper = 1 - 0.01;
  for (const std::string& op : {std::string("Sigmoid"), std::string("HardSigmoid")}) {
    CHECK(of(op, {0.01, 0.01, upper}) == 0);
    CHECK(of(op, {std::nextafter(0.01, 0), 0.01, upper}) == 0);
    CHECK(of(op, {std::nextafter(0.01, 0), std::nextafter(upper, 1), upper}) == 1);
  }
  CHECK(of("Tanh", {upper, -upper, upper}) == 0);
  CHECK(of("Tanh", {std::nextafter(upper, 1), -std::nextafter(upper, 1), upper}) == 1);
  CHECK(of("Tanh", {0.001, 0.001, -0.001}) == 0);
  CHECK(of("Sigmoid", {0, 0.5}) == 0);
}

TEST_CASE("inputs are unusual above a mean of 3, a deviation of 5 or below one of 0.02") {
  const auto check = [](const std::vector<float>& values, bool synthetic = false) {
    Examination on;
    on.options.synthetic = synthetic;
    on.feeds = {{"x", floats(values)}};
    return found(trainer::find_input_scales, on);
  };
  CHECK(check({2, 4}).empty());  // mean 3
  CHECK(check({-2, -4}).empty());
  CHECK(check({2.01F, 4.01F}).size() == 1);
  CHECK(check({-2.01F, -4.01F}).size() == 1);
  CHECK(check({-5, 5}).empty());  // deviation 5
  CHECK(check({-5.01F, 5.01F}) ==
        Names{"the batch of input 'x' has mean 0 and standard deviation 5.01"});
  CHECK(check({-0.0201F, 0.0201F}).empty());
  CHECK(check({-0.0199F, 0.0199F}).size() == 1);
  CHECK(check({100}).empty());  // one number is no sample
  CHECK(check({100, 100}).size() == 1);
  CHECK(check({100, 100}, true).empty());
  CHECK(check({100, inf}).empty());  // another check
  Examination on;
  on.feeds = {{"ids", Tensor::of<std::int64_t>({2}, {100, 300})}};
  CHECK(found(trainer::find_input_scales, on).empty());
}

TEST_CASE("weights are unusual above a deviation of 10, or where a matrix is constant") {
  const auto check = [](const Tensor& value) {
    Examination on;
    on.trained = {{"w", value, value}};
    return found(trainer::find_weight_scales, on);
  };
  CHECK(check(matrix({-10, 10})).empty());
  CHECK(check(matrix({-10.01F, 10.01F})) ==
        Names{"the elements of 'w' have a standard deviation of 10.01"});
  CHECK(check(matrix({0.5F, 0.5F})) == Names{"all elements of 'w' are 0.5: its units stay equal"});
  CHECK(check(matrix({0, 0})) == Names{"all elements of 'w' are 0"});
  CHECK(check(matrix({0.5F, 0.25F})).empty());
  CHECK(check(matrix({0.5F})).empty());
  CHECK(check(floats({0.5F, 0.5F})).empty());
  CHECK(check(matrix({0.5F, nan})).empty());
}

TEST_CASE("the loss of a batch is compared with that of guessing among the classes") {
  const auto check = [](float loss, const std::string& op, graph::Attributes attributes = {},
                        bool synthetic = false, const Shape& scores = {5, 4}) {
    const Steps steps{{node("Gemm", {"x", "w"}, {"s"}), node(op, {"s", "t"}, {"loss"}, attributes)},
                      {Tensor(DType::float32, scores), Tensor::scalar(loss)}};
    Examination on = steps.examination();
    on.options.synthetic = synthetic;
    return found(trainer::find_initial_loss, on);
  };
  const std::string op = "SoftmaxCrossEntropyLoss";
  const auto bound = static_cast<float>(1.5 * std::log(4) + 0.5);
  CHECK(check(bound - 1e-3F, op).empty());
  CHECK(check(3, op) == Names{"the loss on the batch is 3; guessing among 4 classes gives 1.386"});
  CHECK(check(bound + 1e-3F, "NegativeLogLikelihoodLoss").size() == 1);
  CHECK(check(3, op, {{"reduction", std::string("mean")}}).size() == 1);
  CHECK(check(3, op, {{"reduction", std::string("sum")}}).empty());
  CHECK(check(3, "ReduceMean").empty());
  CHECK(check(3, op, {}, true).empty());
  CHECK(check(inf, op).empty());
  CHECK(check(3, op, {}, false, {5}).empty());
  CHECK(check(9, op, {}, false, {5, 1}).empty());
  CHECK(check(9, op, {}, false, {5, 2}).size() == 1);
}

TEST_CASE(
    "the first value that is not finite is that of an input, a parameter, a node, a gradient") {
  Steps steps{{node("Log", {"x"}, {"l"}), node("Exp", {"l"}, {"e"})}, {floats({1}), floats({1})}};
  Examination on = steps.examination();
  on.feeds = {{"x", floats({1})}};
  on.trained = {{"w", floats({1}), floats({1})}};
  on.losses = {1};
  const auto check = [&] { return found(trainer::find_not_finite, on); };
  CHECK(check().empty());
  // Infinities count only where the result is not finite; NaN always.
  on.feeds[0].second = floats({-inf});
  CHECK(check().empty());
  on.steps[1].outputs[0] = floats({inf});
  CHECK(check().empty());
  on.losses = {1, inf};
  CHECK(check() == Names{"input 'x' contains an infinity"});
  on.feeds[0].second = floats({1, nan});
  on.losses = {1};
  CHECK(check() == Names{"input 'x' contains NaN"});
  on.feeds[0].second = floats({1});
  on.steps[1].outputs[0] = floats({inf, nan});
  CHECK(check() == Names{"value 'e' of Exp 'e' is the first to contain NaN"});
  on.steps[0].outputs[0] = floats({nan});
  CHECK(check() == Names{"value 'l' of Log 'l' is the first to contain NaN"});
  on.trained[0].value = floats({inf});
  CHECK(check() == Names{"parameter 'w' contains an infinity"});
  on = steps.examination();
  on.trained = {{"v", floats({1}), floats({1})}, {"w", floats({1}), floats({2, inf})}};
  CHECK(check() == Names{"the gradient of 'w' contains an infinity; all values before it are "
                         "finite"});
  Findings findings;
  trainer::find_not_finite(on, findings);
  CHECK_THAT(findings.at(0).remedy, Catch::Contains("division at zero"));
  on.trained[1].gradient = Tensor::of<float16>({1}, {float16{0x7c00}});
  findings.clear();
  trainer::find_not_finite(on, findings);
  CHECK_THAT(findings.at(0).remedy, Catch::Contains("dynamic loss scale"));
}

TEST_CASE("a gradient of zeros is explained by the first flat node after its parameter") {
  Steps steps{{node("Mul", {"x", "w"}, {"p"}), node("Round", {"p"}, {"r"}),
               node("Relu", {"v"}, {"a"}), node("Relu", {"u"}, {"b"})},
              {floats({1}), floats({1}), floats({0, 0}), floats({0, 1})}};
  Examination on = steps.examination();
  for (const char* name : {"w", "v", "u", "t"}) {
    on.trained.push_back({name, floats({1}), floats({0, 0})});
  }
  CHECK(found(trainer::find_zero_gradients, on) ==
        Names{"the gradient of 'w' is zero on the batch; Round 'r' has a derivative of zero there",
              "the gradient of 'v' is zero on the batch; Relu 'a' has a derivative of zero there",
              "the gradient of 'u', 't' is zero on the batch"});
  on.trained[0].gradient = floats({0, 1e-30F});
  on.trained[2].gradient = floats({});
  // Parameters that another check has named are not named again.
  Findings findings{{"no-gradient", "'t': the loss does not depend on it", ""}};
  trainer::find_zero_gradients(on, findings);
  REQUIRE(findings.size() == 2);
  CHECK_THAT(findings[1].message, Catch::StartsWith("the gradient of 'v' is zero"));
}

TEST_CASE("batch normalization is frozen by its version's attribute or its outputs") {
  const auto check = [](std::int64_t opset, graph::Attributes attributes, std::size_t outputs,
                        const std::string& domain = {}) {
    graph::NodeDef one = node("BatchNormalization", {"x"}, {"y"}, std::move(attributes), domain);
    one.outputs.resize(outputs, "more");
    const Steps steps{{one}, {floats({1})}};
    Examination on = steps.examination();
    on.opset = opset;
    // Nothing before it is trained.
    CHECK(found(trainer::find_frozen_statistics, on).empty());
    on.trained = {{"x", floats({1}), floats({1})}};
    return !found(trainer::find_frozen_statistics, on).empty();
  };
  const graph::Attributes training{{"training_mode", std::int64_t{1}}};
  const graph::Attributes test{{"is_test", std::int64_t{1}}};
  CHECK(check(14, {}, 3));
  CHECK_FALSE(check(14, training, 1));
  CHECK(check(13, training, 1));
  CHECK_FALSE(check(13, {}, 3));
  CHECK(check(7, {}, 1));
  CHECK_FALSE(check(7, test, 3));
  CHECK(check(6, test, 3));
  CHECK_FALSE(check(6, {}, 1));
  CHECK_FALSE(check(14, {}, 3, "my.own"));
}

TEST_CASE("a model whose learning rate has no name that tells is not judged by it") {
  const Model model = Model::load(encode(linear_regression(100)));
  CHECK_THROWS_AS(model.learning_rate(), Error);
  Examination on;
  on.model = &model;
  CHECK(found(trainer::find_learning_rate, on).empty());
  on.options.algorithm = 7;
  CHECK(found(trainer::find_learning_rate, on).empty());
}

}  // namespace ondine::test
