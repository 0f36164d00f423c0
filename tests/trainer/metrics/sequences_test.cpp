// Error rates of decoded sequences, against values counted by hand.
#include <catch2/catch.hpp>
#include <string_view>

#include <ondine/build.h>
#include <ondine/data_record.h>
#include <ondine/prepare.h>
#include <ondine/trainer.h>

#include "trainer/metrics/edit_distance.h"
#include "trainer/model/model_impl.h"

using namespace ondine;
using Catch::Contains;

namespace {

constexpr std::int64_t rows = 3;
constexpr std::int64_t steps = 6;
constexpr std::int64_t classes = 5;

// Its output is its input.
Model sequence_model(std::int64_t blank = 0) {
  ModelBuilder b("passing", 17);
  const std::string x = b.input("x", DType::float32, {"N", steps, classes});
  Tensor w(DType::float32, {classes});
  for (float& one : w.mutable_values<float>()) one = 1;
  b.node("Mul", {x, b.initializer("w", w)}, {}, "out");
  b.output("out", DType::float32, {"N", steps, classes});
  PrepareOptions options;
  options.loss = Loss::ctc;
  options.train = {"w"};
  options.init = WeightInit::keep;
  options.ctc_blank = blank;
  return prepare(b.bytes(), options);
}

Tensor integers(const Shape& shape, std::vector<std::int64_t> values) {
  return Tensor::of(shape, values);
}

// The best classes of the steps are those of `path`.
Tensor scores_of(const std::vector<std::int64_t>& path) {
  Tensor scores(DType::float32, {rows, steps, classes});
  for (std::size_t i = 0; i < path.size(); ++i) {
    scores.mutable_values<float>()[i * classes + static_cast<std::size_t>(path[i])] = 4;
  }
  return scores;
}

// Three rows over the classes blank, a, b, space and ä: "aab" for "ab", "b ä" for "b a" (after
// which there are no steps) and "" for "ä".
NamedValues three_rows() {
  return {{"x", scores_of({1, 1, 0, 1, 2, 2, 2, 3, 4, 1, 1, 1, 0, 0, 0, 0, 0, 0})},
          {"label", integers({rows, 3}, {1, 2, 9, 2, 3, 1, 4, 9, 9})},
          {"label_lengths", integers({rows}, {2, 3, 1})},
          {"label_input_lengths", integers({rows}, {6, 3, 6})}};
}

}  // namespace

TEST_CASE("the edit distance counts insertions, deletions and substitutions") {
  using metrics::edit_distance;
  using Text = std::string_view;
  CHECK(edit_distance(Text("kitten"), Text("sitting")) == 3);
  CHECK(edit_distance(Text("intention"), Text("execution")) == 5);
  CHECK(edit_distance(Text("flaw"), Text("lawn")) == 2);
  CHECK(edit_distance(Text(""), Text("abc")) == 3);
  CHECK(edit_distance(Text("abc"), Text("")) == 3);
  CHECK(edit_distance(Text("same"), Text("same")) == 0);
}

TEST_CASE("characters and words of best paths are compared with the labels") {
  Model model = sequence_model();
  DataRecord record = data_record(model);
  record.classes = {"-", "a", "b", " ", "\xc3\xa4"};
  ModelAccess::set_record(model, record);
  const Evaluation found =
      evaluate(model, Dataset::from(three_rows()), {.batch_size = 2, .metrics = {"cer", "wer"}});
  // One insertion of 2, one substitution of 3, one deletion of 1; words: 1 of 1, 1 of 2, 1 of 1.
  CHECK(found.metrics["cer"] == Approx(3.0 / 6));
  CHECK(found.metrics["wer"] == Approx(3.0 / 4));
  CHECK(found.rows == 3);
}

TEST_CASE("without names of classes labels are compared, and there are no words") {
  const Model model = sequence_model();
  const Dataset data = Dataset::from(three_rows());
  const Evaluation found = evaluate(model, data);
  CHECK(found.metrics["cer"] == Approx(0.5));
  CHECK(found.note.empty());
  CHECK_THROWS_WITH(evaluate(model, data, {.metrics = {"wer"}}), Contains("names its classes"));
  CHECK_THROWS_WITH(evaluate(model, data, {.metrics = {"accuracy"}}),
                    Contains("ctc") && Contains("cer, wer"));
}

TEST_CASE("the blank is the one that the model was prepared with") {
  // Now class 4 is blank and 0 a label: "aa0ab" becomes "a0ab", "b " and "0".
  NamedValues data = three_rows();
  data[1].second = integers({rows, 3}, {1, 2, 9, 2, 3, 1, 3, 9, 9});
  const Evaluation found = evaluate(sequence_model(4), Dataset::from(data));
  // "a0ab" for "ab": 2 of 2; "b " for "b a": 1 of 3; "0" for " ": 1 of 1.
  CHECK(found.metrics["cer"] == Approx(4.0 / 6));
}

TEST_CASE("a run validates sequences, and lengths that do not fit are refused") {
  Model model = sequence_model();
  const Dataset data = Dataset::from(three_rows(), three_rows());
  std::optional<EpochReport> last;
  Trainer trainer(model, {.epochs = 1, .batch_size = 3});
  trainer.on_epoch([&](const EpochReport& epoch) { last = epoch; });
  trainer.fit(data);
  REQUIRE(last);
  CHECK(last->validation["cer"] == Approx(0.5));
  NamedValues longer = three_rows();
  longer[3].second = integers({rows}, {6, 7, 6});
  CHECK_THROWS_WITH(evaluate(model, Dataset::from(longer)), Contains("length 7 of 6"));
  longer = three_rows();
  longer[2].second = integers({rows}, {2, 4, 1});
  CHECK_THROWS_WITH(evaluate(model, Dataset::from(longer)), Contains("length 4 of 3"));
}
