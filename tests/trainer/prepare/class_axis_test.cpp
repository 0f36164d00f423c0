// Which axis holds the classes, where the model does not say it; and the accuracy of many classes.
#include <ondine/build.h>
#include <ondine/model.h>
#include <ondine/prepare.h>

#include <algorithm>
#include <catch2/catch.hpp>

using namespace ondine;
using Catch::Contains;

namespace {

// scores [N, 4, classes], which no linear layer makes.
std::vector<std::byte> scores(std::int64_t classes, const char* end = nullptr) {
  ModelBuilder b("scores");
  const std::string x = b.input("x", DType::float32, {"N", 4, classes});
  const std::vector<float> ones(static_cast<std::size_t>(4 * classes), 1.0F);
  std::string y = b.node("Mul", {x, b.initializer("w", Tensor::of<float>({4, classes}, ones))});
  if (end != nullptr) y = b.node(end, {y}, {{"axis", std::int64_t{-1}}});
  b.node("Identity", {y}, {}, "y");
  b.output("y", DType::float32, {"N", 4, classes});
  return b.bytes();
}

PrepareOptions with_axis(std::int64_t axis) {
  PrepareOptions options;
  options.init = WeightInit::keep;
  options.class_axis = axis;
  return options;
}

std::vector<std::int64_t> label_dims(const Model& model) {
  for (const PortInfo& port : model.algorithm(0).inputs) {
    if (port.name == "label") return *port.dims;
  }
  return {};
}

bool has_accuracy(const Model& model) {
  const auto outputs = model.algorithm(0).outputs;
  return std::ranges::any_of(outputs, [](const PortInfo& one) { return one.name == "accuracy"; });
}

}  // namespace

TEST_CASE("the classes are on axis 1 unless the options say where they are") {
  PrepareOptions plain;
  plain.init = WeightInit::keep;
  CHECK(label_dims(prepare(scores(5), plain)) == std::vector<std::int64_t>{-1, 5});
  for (const std::int64_t axis : {2, -1}) {
    Model model = prepare(scores(5), with_axis(axis));
    CHECK(label_dims(model) == std::vector<std::int64_t>{-1, 4});
    Tensor x(DType::float32, {2, 4, 5});
    const Tensor label = Tensor::of<std::int64_t>({2, 4}, {0, 1, 2, 3, 4, 0, 1, 2});
    // Equal scores: the logarithm of the number of classes.
    CHECK(model.train_step({{"x", x}, {"label", label}}).scalar("loss") ==
          Approx(std::log(5.0)).epsilon(1e-6));
  }
}

TEST_CASE("an axis of the classes that cannot be is refused") {
  for (const std::int64_t axis : {0, -3, 3, -4}) {
    CHECK_THROWS_WITH(prepare(scores(5), with_axis(axis)),
                      Contains("class axis " + std::to_string(axis)) && Contains("3 axes"));
  }
  CHECK_THROWS_WITH(prepare(scores(5, "Softmax"), with_axis(1)),
                    Contains("the model says that the classes") && Contains("axis 2"));
  CHECK_NOTHROW(prepare(scores(5, "Softmax"), with_axis(2)));
  PrepareOptions numbers = with_axis(1);
  numbers.loss = Loss::mse;
  CHECK_THROWS_WITH(prepare(scores(5), numbers),
                    Contains("class axis 1 has no effect: the mean squared error has no classes"));
  PrepareOptions probabilities = with_axis(2);
  probabilities.loss = Loss::nll;
  CHECK(label_dims(prepare(scores(5, "Softmax"), probabilities)) ==
        std::vector<std::int64_t>{-1, 4});
}

TEST_CASE("the accuracy of more than 1,000 classes is left out unless it is asked for") {
  PrepareOptions options = with_axis(2);
  CHECK(has_accuracy(prepare(scores(1000), options)));
  PrepareReport report;
  CHECK_FALSE(has_accuracy(prepare(scores(1001), options, {}, &report)));
  REQUIRE_FALSE(report.notes.empty());
  CHECK_THAT(report.notes.back(), Contains("there are 1001 classes: steps give no accuracy"));
  options.accuracy = true;
  CHECK(has_accuracy(prepare(scores(1001), options, {}, &report)));
  CHECK(report.notes.empty());
  options.accuracy = false;
  CHECK_FALSE(has_accuracy(prepare(scores(1000), options)));
}
