#include <algorithm>
#include <cmath>

#include "core/message.h"
#include "graph/training/prepare/losses/kinds.h"
#include "graph/training/prepare/losses/losses.h"

namespace ondine::graph {
namespace {

void require(bool holds, const char* what, double value) {
  if (!holds) fail(ErrorCode::mismatch, what, ", found ", value);
}

// A setting that differs from its default needs a loss that reads it.
void require_used(bool given, bool used, const char* setting, const char* owners,
                  const PrepareOptions& options) {
  if (!given || used) return;
  fail(ErrorCode::mismatch, setting, " belong to the loss ", owners, ", the loss is ",
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
  const bool is_entropy = options.loss == Loss::softmax_cross_entropy && !has_loss_model(options);
  const bool is_focal = options.loss == Loss::focal && !has_loss_model(options);
  const char* entropy = "softmax-cross-entropy";
  require_used(e != 0, is_entropy, "smoothed labels", entropy, options);
  require_used(options.ignore_index.has_value(), is_entropy, "ignored labels", entropy, options);
  require_used(options.soft_labels, is_entropy, "soft labels", entropy, options);
  require_used(!weights.empty(), is_entropy || is_focal, "class weights",
               "softmax-cross-entropy or focal", options);
  if (options.soft_labels && options.ignore_index) {
    fail(ErrorCode::mismatch, "soft labels have no index that could be ignored");
  }
  if (has_loss_model(options) && !options.output.empty()) {
    fail(ErrorCode::mismatch, "the loss model names the values that it reads; remove the loss ",
         "output ", quoted(options.output));
  }
}

}  // namespace ondine::graph
