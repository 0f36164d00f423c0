#include <algorithm>
#include <cmath>

#include "core/message.h"
#include "graph/training/prepare/losses/table.h"

namespace ondine::graph {
namespace {

void require(bool holds, const char* what, double value) {
  if (!holds) fail(ErrorCode::mismatch, what, ", found ", value);
}

// A setting that differs from its default needs a loss that reads it.
void require_used(const PrepareOptions& options, LossSetting setting, bool is_given,
                  const char* what) {
  const bool is_read = !has_loss_model(options) && traits_of(options.loss).has(setting);
  if (!is_given || is_read) return;
  std::string owners;
  for (const std::string& one : names_of_losses(setting)) {
    owners += (owners.empty() ? "" : " or ") + one;
  }
  fail(ErrorCode::mismatch, what, " to the loss ", owners, ", the loss is ", name_of(options));
}

void require_used(const PrepareOptions& options) {
  using enum LossSetting;
  const PrepareOptions defaults;
  const auto require = [&](LossSetting setting, bool is_given, const char* what) {
    require_used(options, setting, is_given, what);
  };
  require(label_smoothing, options.label_smoothing != 0, "smoothed labels belong");
  require(ignore_index, options.ignore_index.has_value(), "ignored labels belong");
  require(soft_labels, options.soft_labels, "soft labels belong");
  require(class_weights, !options.class_weights.empty(), "class weights belong");
  require(huber_delta, options.huber_delta != defaults.huber_delta, "the Huber delta belongs");
  require(focal_gamma, options.focal_gamma != defaults.focal_gamma, "the focal gamma belongs");
  require(margin, options.margin != defaults.margin, "the margin belongs");
  require(ctc_blank, options.ctc_blank != defaults.ctc_blank, "the CTC blank belongs");
}

}  // namespace

bool has_loss_model(const PrepareOptions& options) {
  return !std::holds_alternative<std::monostate>(options.loss_model);
}

std::string name_of(const PrepareOptions& options) {
  return has_loss_model(options) ? "model" : std::string(traits_of(options).facts.name);
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
  require_used(options);
  if (options.row_weights && (traits_of(options).compares_rows() || has_loss_model(options))) {
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
