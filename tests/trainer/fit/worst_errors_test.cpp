// The worst errors of a classifier, found again from its logits.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <iterator>

#include "tests/support/temporary_folder.h"
#include "tests/trainer/fit/small_task.h"
#include "trainer/fit/worst_errors.h"

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
  std::ifstream in(folder / "page.html");
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  CHECK_THAT(page, Contains("Worst errors") && Contains("Confusion matrix"));
}

TEST_CASE("pictures show channels before or after the pixels, and nothing else is a picture") {
  const Tensor first = Tensor::of<float>({1, 3, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  const Tensor last = Tensor::of<float>({1, 2, 2, 3}, {0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11});
  const std::string picture = fit::picture_of(NamedValues{{"x", first}}, 0);
  CHECK(picture.substr(1, 3) == "PNG");
  CHECK(picture == fit::picture_of(NamedValues{{"x", last}}, 0));
  CHECK(fit::picture_of(NamedValues{{"x", Tensor::of<float>({2, 2}, {1, 2, 3, 4})}}, 0).empty());
}
