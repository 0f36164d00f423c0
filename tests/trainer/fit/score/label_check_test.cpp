// Labels that a loss takes without an error of its own, and trains wrongly with.
#include "trainer/fit/score/label_check.h"

#include <catch2/catch.hpp>
#include <vector>

#include <ondine/build.h>
#include <ondine/prepare.h>

using namespace ondine;
using Catch::Contains;

namespace {

// Its output is x [N, 3], or [N, 4, 3] for sequences, times a weight.
Model model_of(Loss loss, std::int64_t blank = 0) {
  ModelBuilder b("passing", 17);
  std::vector<ModelBuilder::Dim> dims = {"N", 3};
  if (loss == Loss::ctc) dims = {"N", 4, 3};
  const std::string x = b.input("x", DType::float32, dims);
  b.node("Mul", {x, b.initializer("w", Tensor::of<float>({3}, {1, 2, 3}))}, {}, "out");
  b.output("out", DType::float32, dims);
  PrepareOptions options;
  options.loss = loss;
  options.train = {"w"};
  options.ctc_blank = blank;
  return prepare(b.bytes(), options);
}

Tensor floats(std::vector<float> values) { return Tensor::of<float>({1, 3}, values); }
Tensor integers(const Shape& shape, std::vector<std::int64_t> values) {
  return Tensor::of(shape, values);
}

std::string complaint(const Model& model, const NamedValues& feeds) {
  const fit::LabelCheck check(model);
  try {
    check(feeds);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::mismatch);
    return error.message();
  }
  return {};
}

std::string complaint_of_sequences(std::int64_t blank, std::vector<std::int64_t> labels,
                                   std::int64_t count, std::int64_t steps) {
  return complaint(model_of(Loss::ctc, blank), {{"label", integers({1, 3}, labels)},
                                                {"label_lengths", integers({1}, {count})},
                                                {"label_input_lengths", integers({1}, {steps})}});
}

}  // namespace

TEST_CASE("labels that are there or not lie between 0 and 1, and a mask of 255 says what to do") {
  const Model model = model_of(Loss::bce_with_logits);
  CHECK(complaint(model, {{"label", floats({0, 0.5F, 1})}}).empty());
  CHECK_THAT(complaint(model, {{"label", floats({0, 2, 1})}}),
             Contains("'label' of the loss bce hold 2; needed are 0 for no, 1 for yes"));
  CHECK_THAT(complaint(model, {{"label", floats({0, 255, 255})}}), Contains("divided by 255"));
}

TEST_CASE("probabilities of classes are not negative and 1 in all") {
  const Model model = model_of(Loss::kl);
  CHECK(complaint(model, {{"label", floats({0.25F, 0.25F, 0.5F})}}).empty());
  CHECK_THAT(complaint(model, {{"label", floats({0.5F, 0.75F, -0.25F})}}),
             Contains("hold -0.25; probabilities are not negative"));
  CHECK_THAT(complaint(model, {{"label", floats({1, 0, 1})}}),
             Contains("whose sum is 2, needed: 1"));
}

TEST_CASE("labels of sequences are classes other than the blank, as far as they count") {
  CHECK(complaint_of_sequences(0, {1, 2, -1}, 2, 4).empty());
  CHECK(complaint_of_sequences(2, {0, 1, 2}, 2, 4).empty());
  CHECK(complaint_of_sequences(0, {9, 9, 9}, 0, 0).empty());
  CHECK_THAT(complaint_of_sequences(0, {1, -2, 1}, 2, 4),
             Contains("'label' of the loss ctc hold -2; needed are classes from 0 that are not the "
                      "blank 0"));
  CHECK_THAT(complaint_of_sequences(2, {1, 2, 1}, 2, 4), Contains("hold 2") && Contains("blank 2"));
}

TEST_CASE("lengths of sequences count labels and steps") {
  CHECK_THAT(complaint_of_sequences(0, {1, 2, 1}, -1, 4), Contains("has length -1 of 3"));
  CHECK_THAT(complaint_of_sequences(0, {1, 2, 1}, 4, 4), Contains("has length 4 of 3"));
  CHECK_THAT(complaint_of_sequences(0, {1, 2, 1}, 3, -1),
             Contains("'label_input_lengths' of the loss ctc hold -1"));
}
