#include "trainer/finetune/choices.h"

#include <algorithm>
#include <array>
#include <bit>
#include <variant>

#include "core/message.h"
#include "trainer/fit/score/prediction.h"

namespace ondine::tune {

Loss loss_for(TargetKind kind) {
  switch (kind) {
    case TargetKind::classes:
      return Loss::softmax_cross_entropy;
    case TargetKind::labels:
      return Loss::bce_with_logits;
    case TargetKind::numbers:
      break;
  }
  return Loss::mse;
}

constexpr std::uint64_t few_rows = 2000;

double validation_fraction(std::uint64_t rows) { return rows < few_rows ? 0.2 : 0.1; }

bool refits(std::uint64_t rows, const TargetFacts& target) {
  return rows < few_rows && !target.is_dense();
}

std::uint64_t batch_size_for(std::uint64_t rows, const TargetFacts& target) {
  return std::clamp<std::uint64_t>(std::bit_floor(rows / 50), target.is_dense() ? 8 : 16, 64);
}

std::uint64_t epochs_for(std::uint64_t rows, std::uint64_t batch_size) {
  constexpr std::uint64_t updates = 3000;
  const std::uint64_t steps = std::max<std::uint64_t>(1, (rows + batch_size - 1) / batch_size);
  return std::clamp<std::uint64_t>((updates + steps - 1) / steps, 5, 60);
}

std::uint64_t patience_for(std::uint64_t epochs) { return std::max<std::uint64_t>(3, epochs / 4); }

Rate rate_for(bool is_trained, bool has_new_head, std::uint64_t trained_numbers) {
  constexpr std::uint64_t few = 10000;
  if (!is_trained && trained_numbers < few) return {0.005, 1, "0.005 (few untrained weights)"};
  if (!is_trained) return {0.002, 1, "0.002 (untrained weights)"};
  if (has_new_head) return {0.002, 0.1, "0.002 (a new head)"};
  return {0.0003, 1, "0.0003 (trained weights)"};
}

float& learning_rate_of(Optimizer& optimizer) {
  return std::visit([](auto& one) -> float& { return one.learning_rate; }, optimizer);
}

const char* name_of(const Optimizer& optimizer) {
  constexpr std::array names{"sgd",        "momentum", "nesterov",  "adagrad", "adam",
                             "adamw",      "lion",     "adafactor", "muon",    "schedule-free",
                             "adamw-8bit", "galore",   "apollo",    "mezo"};
  static_assert(names.size() == std::variant_size_v<Optimizer>);
  return names.at(optimizer.index());
}

std::vector<std::string> metrics_for(const TargetFacts& target, RowKind rows) {
  if (rows == RowKind::running_text) return {"perplexity", "accuracy"};
  if (target.kind == TargetKind::numbers) return {"rmse", "mae", "r2"};
  if (target.is_dense()) return {"iou", "accuracy"};
  return {"accuracy", "f1"};
}

void check_options(const FinetuneOptions& options) {
  const auto refuse = [](bool is_set, const char* member, const char* instead) {
    if (!is_set) return;
    fail(ErrorCode::mismatch, "FinetuneOptions::", member, " has no effect; set ", instead);
  };
  const PrepareOptions plain;
  refuse(options.prepare.loss != plain.loss, "prepare.loss", "loss");
  refuse(options.prepare.optimizer.index() != plain.optimizer.index(), "prepare.optimizer",
         "optimizer");
  refuse(options.prepare.head.has_value(), "prepare.head", "head");
  refuse(!options.prepare.preprocess.empty(), "prepare.preprocess", "preprocess");
  refuse(!std::holds_alternative<std::monostate>(options.prepare.loss_model), "prepare.loss_model",
         "loss, or train with prepare and Trainer");
  const TrainerOptions fit;
  refuse(options.trainer.epochs != fit.epochs, "trainer.epochs", "epochs");
  refuse(options.trainer.batch_size != fit.batch_size, "trainer.batch_size", "batch_size");
  refuse(options.trainer.validation_split != 0, "trainer.validation_split", "validation_split");
  refuse(options.trainer.learning_rate.has_value(), "trainer.learning_rate", "learning_rate");
  refuse(options.trainer.schedule.index() != fit.schedule.index(), "trainer.schedule", "schedule");
  refuse(options.trainer.seed != fit.seed, "trainer.seed", "load.seed");
  refuse(options.trainer.algorithm != 0, "trainer.algorithm", "nothing: there is one algorithm");
  if (options.train_budget && options.train_budget->rows != 0) {
    fail(ErrorCode::mismatch, "FinetuneOptions::train_budget.rows has no effect; set batch_size");
  }
  const bool has_validation = !std::holds_alternative<std::monostate>(options.validation.value);
  if (options.prepare.privacy) {
    fail(
        ErrorCode::mismatch,
        "finetune looks at the data for its choices, which privacy (FinetuneOptions::prepare) does "
        "not cover; prepare the model and train it");
  }
  if (options.prepare.packing || options.data.text.next.pack) {
    fail(ErrorCode::mismatch,
         "finetune evaluates rows of one text, so that it does not pack several into one (--pack); "
         "prepare the model with --packing and train it");
  }
  if (options.loss && fit::has_no_score(std::string(loss_name(*options.loss)))) {
    fail(ErrorCode::mismatch, "finetune cannot evaluate a network with the loss ",
         loss_name(*options.loss), "; train it with prepare and Trainer");
  }
  if (options.patience == 0U && options.trainer.early_stopping) {
    fail(ErrorCode::mismatch,
         "trainer.early_stopping has no effect with patience 0, which trains all epochs");
  }
  if (options.validation_split && has_validation) {
    fail(ErrorCode::mismatch, "a validation split and validation data exclude each other");
  }
  if (options.trainer.folds != 0 && (options.validation_split || has_validation)) {
    fail(ErrorCode::mismatch, "cross-validation (folds) divides the data itself: no validation ",
         options.validation_split ? "split" : "data", " besides");
  }
  if (options.refit == true && options.trainer.folds != 0) {
    fail(ErrorCode::mismatch,
         "cross-validation (folds) trains on all rows anyway; refit (--refit) has no effect");
  }
  if (options.refit == true && (options.trainer.max_time || options.trainer.max_steps)) {
    fail(ErrorCode::mismatch, "a run limited by time or steps (--max-time, --max-steps) has no ",
         "best number of epochs to train all rows for: refit (--refit) has no effect");
  }
  if (options.prepare.schedule && options.schedule) {
    fail(ErrorCode::mismatch, "a schedule in the model and one of the run exclude each other");
  }
}

DatasetOptions merged(DatasetOptions asked, const DatasetOptions& recorded) {
  const DatasetOptions plain;
  if (asked.target.empty()) asked.target = recorded.target;
  if (asked.features.empty()) asked.features = recorded.features;
  if (!asked.fill) asked.fill = recorded.fill;
  if (asked.text.column.empty()) asked.text.column = recorded.text.column;
  if (asked.text.length == 0) asked.text.length = recorded.text.length;
  if (asked.text.encoding == plain.text.encoding) asked.text.encoding = recorded.text.encoding;
  if (asked.audio.rate == 0) asked.audio.rate = recorded.audio.rate;
  if (asked.audio.seconds == 0) asked.audio.seconds = recorded.audio.seconds;
  if (!asked.image_size) asked.image_size = recorded.image_size;
  if (!asked.inner_resize) asked.inner_resize = recorded.inner_resize;
  if (asked.layout == plain.layout) asked.layout = recorded.layout;
  if (asked.image_fit == plain.image_fit) asked.image_fit = recorded.image_fit;
  return asked;
}

}  // namespace ondine::tune
