// The worst errors of a classifier, found again from its logits.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include <ondine/build.h>
#include <ondine/prepare.h>

#include "tests/support/file_content.h"
#include "tests/support/random_tensor.h"
#include "tests/support/temporary_folder.h"
#include "tests/trainer/fit/small_task.h"
#include "trainer/fit/score/worst_errors.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

TEST_CASE("the worst errors are the wrong rows whose labels have the least probability") {
  const TemporaryFolder folder;
  Model model = classifier_model();
  model.initialize(4);
  const NamedValues data = classes_data(40);
  const Evaluation result =
      evaluate(model, Dataset::from(data), {.batch_size = 7, .report = folder / "page.html"});
  CHECK_FALSE(result.confusion);
  std::vector<WrongPrediction> expected;
  const Tensor logits = model.infer({{"x", data[0].second.tensor()}})[0].second.tensor();
  const auto scores = logits.values<float>();
  const auto classes = static_cast<std::size_t>(logits.shape()[1]);
  for (std::size_t row = 0; row < 40; ++row) {
    std::vector<double> p;
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c) {
      p.push_back(std::exp(double{scores[row * classes + c]}));
      sum += p.back();
    }
    const auto best = static_cast<std::size_t>(std::max_element(p.begin(), p.end()) - p.begin());
    if (best != row % 4) expected.push_back({row, row % 4, best, p[row % 4] / sum, p[best] / sum});
  }
  std::stable_sort(expected.begin(), expected.end(), [](const auto& a, const auto& b) {
    return a.label_probability < b.label_probability;
  });
  expected.resize(std::min<std::size_t>(24, expected.size()));
  REQUIRE(expected.size() > 5);
  REQUIRE(result.worst.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(result.worst[i].row == expected[i].row);
    CHECK(result.worst[i].label == expected[i].label);
    CHECK(result.worst[i].predicted == expected[i].predicted);
    CHECK(result.worst[i].label_probability == Approx(expected[i].label_probability));
    CHECK(result.worst[i].predicted_probability == Approx(expected[i].predicted_probability));
  }
  CHECK_THAT(content(folder / "page.html"),
             Contains("Worst errors") && Contains("Confusion matrix"));
}

TEST_CASE("the report of a run shows the worst errors of the validation, with pictures") {
  const TemporaryFolder folder;
  const auto data = [](std::int64_t rows, std::uint64_t seed) {
    Tensor label(DType::int64, {rows});
    auto labels = label.mutable_values<std::int64_t>();
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int64_t>(i % 2);
    return Dataset::from(
        NamedValues{{"x", random_floats({rows, 3, 4, 4}, seed)}, {"label", label}});
  };
  const Dataset training = data(20, 1);
  const Dataset validation = data(30, 2);
  ModelBuilder b("images");
  b.input("x", DType::float32, {"N", 3, 4, 4});
  b.node("Conv", {"x", b.initializer("w", random_floats({2, 3, 4, 4}, 3))}, {}, "maps");
  b.node("Flatten", {"maps"}, {}, "logits");
  b.output("logits", DType::float32, {"N", 2});
  for (const bool stops : {false, true}) {
    CAPTURE(stops);
    Model model = prepare(b.bytes(), {.optimizer = Adam{}, .init = WeightInit::keep});
    TrainerOptions options{.epochs = 4, .batch_size = 5, .report = folder / "run.html"};
    // No epoch improves on the first by so much.
    if (stops) options.early_stopping = EarlyStopping{.patience = 2, .min_delta = 10};
    Trainer trainer(model, options);
    trainer.on_epoch([](const EpochReport& one) { CHECK_FALSE(one.confusion); });
    trainer.fit(training, validation);
    const std::string page = content(folder / "run.html");
    CHECK_THAT(page, Contains("Worst errors") &&
                         Contains(stops ? "data after epoch 1:" : "data after epoch 4:"));
    const Evaluation expected =
        evaluate(model, validation, {.batch_size = 11, .report = folder / "eval.html"});
    REQUIRE(expected.worst.size() > 3);
    std::size_t at = 0;
    for (const WrongPrediction& one : expected.worst) {
      at = page.find("data:image/png;base64,", at + 1);
      REQUIRE(at != std::string::npos);
      const std::size_t row = page.find("<span>row ", at) + 10;
      CHECK(page.substr(row, page.find('<', row) - row) == std::to_string(one.row));
    }
    CHECK(page.find("data:image/png;base64,", at + 1) == std::string::npos);
    // The figures are those of the report of an evaluation.
    const auto figures = [&](const std::string& html) {
      const std::size_t first = html.find("<div class=\"worst\">");
      return html.substr(first, html.find("</div>", first) - first);
    };
    CHECK(figures(page) == figures(content(folder / "eval.html")));
  }
}

TEST_CASE("pictures show channels before or after the pixels, and nothing else is a picture") {
  const Tensor first = Tensor::of<float>({1, 3, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  const Tensor last = Tensor::of<float>({1, 2, 2, 3}, {0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11});
  const std::string picture = fit::picture_of(NamedValues{{"x", first}}, 0);
  CHECK(picture.substr(1, 3) == "PNG");
  CHECK(picture == fit::picture_of(NamedValues{{"x", last}}, 0));
  CHECK(fit::picture_of(NamedValues{{"x", Tensor::of<float>({2, 2}, {1, 2, 3, 4})}}, 0).empty());
}
