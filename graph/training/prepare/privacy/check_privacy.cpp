#include <cmath>

#include "core/message.h"
#include "graph/training/prepare/losses/table.h"
#include "graph/training/prepare/privacy/private_gradients.h"

namespace ondine::graph {

void check_privacy(const PrepareOptions& options) {
  if (!options.privacy) return;
  const auto require = [](bool holds, const char* what, double value) {
    if (!holds) fail(ErrorCode::mismatch, what, ", found ", value);
  };
  const Privacy& privacy = *options.privacy;
  require(std::isfinite(privacy.clip) && privacy.clip > 0,
          "the bound of an example's gradient (--dp-clip) must be positive",
          static_cast<double>(privacy.clip));
  require(std::isfinite(privacy.noise) && privacy.noise >= 0,
          "the noise (--dp-noise) must not be negative", static_cast<double>(privacy.noise));
  if (privacy.secure_noise && privacy.noise == 0) {
    fail(ErrorCode::mismatch, "secure noise (--dp-secure-noise) has no effect with noise 0");
  }
  require(privacy.batch_size > 0, "the expected batch size (--dp-batch) must be positive", 0);
  const auto excluded = [](const char* what) {
    fail(ErrorCode::mismatch, "training with privacy (--dp-clip) excludes ", what);
  };
  if (has_loss_model(options)) excluded("losses given as a model, which may mix rows");
  if (traits_of(options).compares_rows()) {
    excluded("losses that compare rows of the batch: triplet and contrastive");
  }
  if (options.row_weights) excluded("weights of rows (--row-weights)");
  if (!options.class_weights.empty()) {
    excluded("class weights, whose sum over the batch divides every row's loss");
  }
  if (options.ignore_index) {
    excluded("ignored labels, whose number in the batch divides every row's loss");
  }
  if (options.packing) excluded("rows of several texts (--packing), which are clipped as one");
  if (options.accumulate) excluded("accumulated gradients (--accumulate)");
  if (options.qat) excluded("quantization-aware training, whose scales read the batch");
  if (!std::holds_alternative<std::monostate>(options.loss_scale) &&
      !std::holds_alternative<NoLossScale>(options.loss_scale)) {
    excluded("a factor on the loss (--loss-scale)");
  }
}

}  // namespace ondine::graph
