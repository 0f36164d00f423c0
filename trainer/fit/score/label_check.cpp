#include "trainer/fit/score/label_check.h"

#include <algorithm>
#include <cmath>

#include <ondine/data_record.h>

#include "core/message.h"
#include "trainer/fit/score/decode_sequences.h"
#include "trainer/fit/score/metric_values.h"

namespace ondine::fit {
namespace {

using Numbers = std::vector<double>;

[[noreturn]] void reject(const LossFacts& loss, const std::string& label, double found,
                         std::string_view needed) {
  fail(ErrorCode::mismatch, "the labels ", quoted(label), " of the loss ", loss.name, " hold ",
       found, "; ", needed);
}

void check_binary(const LossFacts& loss, const std::string& label, const Numbers& values) {
  const auto wrong =
      std::find_if(values.begin(), values.end(), [](double x) { return !(x >= 0 && x <= 1); });
  if (wrong == values.end()) return;
  const bool is_mask =
      std::all_of(values.begin(), values.end(), [](double x) { return x == 0 || x == 255; });
  reject(loss, label, *wrong,
         is_mask ? "a mask of 0 and 255 must be divided by 255"
                 : "needed are 0 for no, 1 for yes, or probabilities between");
}

void check_signs(const LossFacts& loss, const std::string& label, const Numbers& values) {
  const auto wrong =
      std::find_if(values.begin(), values.end(), [](double x) { return x != -1 && x != 1; });
  if (wrong != values.end()) reject(loss, label, *wrong, "needed are -1 for no and 1 for yes");
}

void check_probabilities(const LossFacts& loss, const std::string& label, const Tensor& tensor,
                         const Numbers& values) {
  const auto wrong = std::find_if(values.begin(), values.end(), [](double x) { return !(x >= 0); });
  if (wrong != values.end()) reject(loss, label, *wrong, "probabilities are not negative");
  const Shape& shape = tensor.shape();
  if (shape.rank() < 2) return;
  constexpr double tolerance = 0.01;  // float16 has 3 digits
  const auto classes = static_cast<std::size_t>(shape[1]);
  const auto inner = static_cast<std::size_t>(shape.size(2, shape.rank()));
  if (classes * inner == 0) return;
  for (std::size_t first = 0; first < values.size(); first += classes * inner) {
    for (std::size_t i = 0; i < inner; ++i) {
      double sum = 0;
      for (std::size_t c = 0; c < classes; ++c) sum += values[first + c * inner + i];
      if (std::abs(sum - 1) <= tolerance) continue;
      fail(ErrorCode::mismatch, "the labels ", quoted(label), " of the loss ", loss.name,
           " hold probabilities of the classes whose sum is ", sum, ", needed: 1");
    }
  }
}

const Tensor* find_tensor(std::span<const NamedValue> feeds, const std::string& name) {
  const auto found = std::find_if(feeds.begin(), feeds.end(),
                                  [&](const NamedValue& one) { return one.first == name; });
  return found == feeds.end() || !found->second.is_tensor() ? nullptr : &found->second.tensor();
}

// Too large ones the loss itself finds: it gathers with them.
void check_sequences(const LossFacts& loss, const std::string& label, std::int64_t blank,
                     std::span<const NamedValue> feeds) {
  const Tensor* const counts = find_tensor(feeds, label + length_suffixes[0]);
  if (counts != nullptr) {
    for (const Labels& row : cut_labels(*find_tensor(feeds, label), *counts)) {
      const auto wrong =
          std::find_if(row.begin(), row.end(), [&](std::int64_t x) { return x < 0 || x == blank; });
      if (wrong == row.end()) continue;
      reject(loss, label, static_cast<double>(*wrong),
             cat("needed are classes from 0 that are not the blank ", blank));
    }
  }
  const std::string steps = label + length_suffixes[1];
  const Tensor* const found = find_tensor(feeds, steps);
  if (found == nullptr) return;
  const Numbers values = metric_values(*found);
  const auto wrong = std::find_if(values.begin(), values.end(), [](double x) { return !(x >= 0); });
  if (wrong != values.end()) reject(loss, steps, *wrong, "needed are numbers of steps");
}

}  // namespace

LabelCheck::LabelCheck(const Model& model) : loss_(nullptr) {
  const DataRecord::Prediction prediction = data_record(model).prediction;
  loss_ = find_loss(prediction.loss);
  label_ = prediction.label;
  blank_ = prediction.ctc_blank;
}

void LabelCheck::check(std::span<const NamedValue> feeds, const std::string& label) const {
  const Tensor* const tensor = loss_ == nullptr ? nullptr : find_tensor(feeds, label);
  if (tensor == nullptr) return;
  switch (loss_->labels) {
    case LossLabels::binary:
      return check_binary(*loss_, label, metric_values(*tensor));
    case LossLabels::signs:
      return check_signs(*loss_, label, metric_values(*tensor));
    case LossLabels::probabilities:
      return check_probabilities(*loss_, label, *tensor, metric_values(*tensor));
    case LossLabels::sequences:
      return check_sequences(*loss_, label, blank_, feeds);
    case LossLabels::classes:
    case LossLabels::numbers:
    case LossLabels::vectors:
    case LossLabels::groups:
      return;  // numbers are free, and the operators of the others look at theirs
  }
}

}  // namespace ondine::fit
