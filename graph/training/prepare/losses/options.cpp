#include <algorithm>
#include <cmath>
#include <vector>

#include "core/message.h"
#include "graph/training/prepare/losses/kinds.h"
#include "graph/training/prepare/losses/losses.h"

namespace ondine::graph {
namespace {

void require(bool holds, const char* what, double value) {
  if (!holds) fail(ErrorCode::mismatch, what, ", found ", value);
}

// A setting that differs from its default needs a loss that reads it.
struct Setting {
  bool is_given = false;
  const char* what = "";
  std::vector<Loss> owners;
};

std::vector<Setting> settings_of(const PrepareOptions& options) {
  const PrepareOptions defaults;
  return {
      {options.label_smoothing != 0, "smoothed labels belong", {Loss::softmax_cross_entropy}},
      {options.ignore_index.has_value(), "ignored labels belong", {Loss::softmax_cross_entropy}},
      {options.soft_labels, "soft labels belong", {Loss::softmax_cross_entropy}},
      {!options.class_weights.empty(),
       "class weights belong",
       {Loss::softmax_cross_entropy, Loss::focal}},
      {options.huber_delta != defaults.huber_delta, "the Huber delta belongs", {Loss::huber}},
      {options.focal_gamma != defaults.focal_gamma, "the focal gamma belongs", {Loss::focal}},
      {options.margin != defaults.margin, "the margin belongs", {Loss::triplet, Loss::contrastive}},
      {options.ctc_blank != defaults.ctc_blank, "the CTC blank belongs", {Loss::ctc}},
  };
}

void require_used(const Setting& setting, const PrepareOptions& options) {
  const bool is_read =
      !has_loss_model(options) &&
      std::find(setting.owners.begin(), setting.owners.end(), options.loss) != setting.owners.end();
  if (!setting.is_given || is_read) return;
  std::string owners;
  for (const Loss one : setting.owners) owners += (owners.empty() ? "" : " or ") + name_of(one);
  fail(ErrorCode::mismatch, setting.what, " to the loss ", owners, ", the loss is ",
       name_of(options));
}

}  // namespace

bool has_loss_model(const PrepareOptions& options) {
  return !std::holds_alternative<std::monostate>(options.loss_model);
}

std::string name_of(const PrepareOptions& options) {
  if (has_loss_model(options)) return "model";
  const bool is_soft = options.soft_labels && options.loss == Loss::softmax_cross_entropy;
  return is_soft ? "soft-cross-entropy" : name_of(options.loss);
}

void check_loss_options(const PrepareOptions& options) {
  const float e = options.label_smoothing;
  require(e >= 0 && e < 1, "the label smoothing must be in [0, 1)", double{e});
  require(options.huber_delta > 0, "the Huber delta must be positive", double{options.huber_delta});
  require(options.focal_gamma >= 0 && std::isfinite(options.focal_gamma),
          "the focal gamma must be a number that is not negative", double{options.focal_gamma});
  require(options.margin > 0 && std::isfinite(options.margin),
          "the margin must be a positive number", double{options.margin});
  require(options.ctc_blank >= 0, "the CTC blank must be a class",
          static_cast<double>(options.ctc_blank));
  for (const float weight : options.class_weights) {
    require(weight >= 0 && std::isfinite(weight), "class weights must not be negative",
            double{weight});
  }
  const auto& weights = options.class_weights;
  if (!weights.empty() && std::count(weights.begin(), weights.end(), 0.0F) ==
                              static_cast<std::ptrdiff_t>(weights.size())) {
    fail(ErrorCode::mismatch, "all class weights are 0");
  }
  for (const Setting& one : settings_of(options)) require_used(one, options);
  const bool has_pairs = options.loss == Loss::triplet || options.loss == Loss::contrastive;
  if (options.row_weights && (has_pairs || has_loss_model(options))) {
    fail(ErrorCode::mismatch,
         "weights of rows are for losses that are a mean over rows, the loss is ",
         name_of(options));
  }
  if (options.soft_labels && options.ignore_index) {
    fail(ErrorCode::mismatch, "soft labels have no index that could be ignored");
  }
  if (has_loss_model(options) && !options.output.empty()) {
    fail(ErrorCode::mismatch, "the loss model names the values that it reads; remove the loss ",
         "output ", quoted(options.output));
  }
}

}  // namespace ondine::graph
