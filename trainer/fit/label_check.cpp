#include "trainer/fit/label_check.h"

#include <algorithm>
#include <cmath>

#include <ondine/data_record.h>

#include "core/message.h"
#include "trainer/fit/metric_values.h"

namespace ondine::fit {
namespace {

using Numbers = std::vector<double>;

[[noreturn]] void reject(const LossFacts& loss, const std::string& label, double found,
                         const char* needed) {
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

}  // namespace

LabelCheck::LabelCheck(const Model& model) : loss_(nullptr) {
  const DataRecord::Prediction prediction = data_record(model).prediction;
  loss_ = find_loss(prediction.loss);
  label_ = prediction.label;
}

void LabelCheck::check(std::span<const NamedValue> feeds, const std::string& label) const {
  if (loss_ == nullptr) return;
  const bool is_checked = loss_->labels == LossLabels::binary ||
                          loss_->labels == LossLabels::signs ||
                          loss_->labels == LossLabels::probabilities;
  const auto found = std::find_if(feeds.begin(), feeds.end(),
                                  [&](const NamedValue& one) { return one.first == label; });
  if (!is_checked || found == feeds.end() || !found->second.is_tensor()) return;
  const Tensor& tensor = found->second.tensor();
  const Numbers values = metric_values(tensor);
  if (loss_->labels == LossLabels::binary) return check_binary(*loss_, label, values);
  if (loss_->labels == LossLabels::signs) return check_signs(*loss_, label, values);
  check_probabilities(*loss_, label, tensor, values);
}

}  // namespace ondine::fit
