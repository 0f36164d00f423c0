// FinetuneOptions: rows of its own, and those of prepare and train that finetune() does not decide
// itself or decides unless they are given.
#include <algorithm>
#include <utility>

#include <ondine/error.h>

#include "trainer/fit/score/prediction.h"
#include "trainer/options/groups.h"
#include "trainer/options/parse.h"

namespace ondine::options {
namespace {

using Finetune = Rows<FinetuneTarget>;

PrepareTarget& prepare_of(FinetuneTarget& to) { return to.prepare; }
TrainTarget& train_of(FinetuneTarget& to) { return to.train; }
TrainBudget& budget_of(FinetuneTarget& to) {
  if (!to.options.train_budget) to.options.train_budget.emplace();
  return *to.options.train_budget;
}

void add_choices(Finetune& rows) {
  rows.heading("Choices");
  rows.take(network_rows(), "targets",
            [](FinetuneTarget& to) -> NetworkTarget& { return to.network; });
  rows.choice<HeadChoice>(
          "head",
          {{"auto", HeadChoice::automatic},
           {"keep", HeadChoice::keep},
           {"new", HeadChoice::replace}},
          "The network's last layer: auto replaces it where it does not fit the targets, keep, or "
          "new",
          [](FinetuneTarget& to, HeadChoice value) { to.options.head = value; })
      .by_default("auto");
  std::vector<std::pair<std::string, NetworkKind>> networks;
  for (const NetworkKind kind : {NetworkKind::mlp, NetworkKind::cnn, NetworkKind::unet,
                                 NetworkKind::text, NetworkKind::audio}) {
    networks.emplace_back(to_string(kind), kind);
  }
  rows.choice<NetworkKind>(
      "network", networks, "Without a model: kind of the new network; the data decide if absent",
      [](FinetuneTarget& to, NetworkKind value) { to.options.network = value; });
  rows.choice<std::optional<bool>>(
          "refit", {{"auto", {}}, {"always", true}, {"never", false}},
          "After evaluation, train once more on all rows, validation rows included: auto (with "
          "few rows), always, or never",
          [](FinetuneTarget& to, std::optional<bool> value) { to.options.refit = value; })
      .by_default("auto");
  rows.heading("Early stopping");
  rows.integer("patience", "EPOCHS",
               "Stop after this many epochs without improvement, 0: never; by the number of epochs "
               "if absent",
               [](FinetuneTarget& to, std::int64_t value) {
                 to.options.patience = static_cast<std::uint64_t>(value);
               })
      .from(0);
  rows.take(train_rows(), "monitor", train_of).always();
  rows.take(train_rows(), "min-delta", train_of).always();
}

void add_columns(Finetune& rows) {
  const auto table_of = [](FinetuneTarget& to) -> TableOptions& { return to.options.table; };
  rows.heading("Columns of a table; without a model, what is not given is chosen");
  rows.take(table_rows(), {"one-hot", "embed", "standardize", "impute"}, table_of);
}

// Options of some losses and optimizers need one that is given: finetune() may choose another.
void add_preparation(Finetune& rows) {
  const Rows<PrepareTarget>& all = prepare_rows();
  std::erase_if(rows.take(all, "loss", prepare_of).info.choices, fit::has_no_score);
  rows.take(all, "loss-output", prepare_of).always();
  rows.take(all, "label", prepare_of).always();
  rows.take(all, {"label-smoothing", "ignore-index"}, prepare_of);
  auto& weights = rows.take(all, "class-weights", prepare_of).always();
  weights.set = [given_weights = weights.set](FinetuneTarget& to, const Given& given) {
    if (given.text() != "balanced") return given_weights(to, given);
    to.options.balances_classes = true;
  };
  rows.take(all,
            {"soft-labels", "accuracy", "no-accuracy", "focal-gamma", "huber-delta", "ctc-blank"},
            prepare_of);
  rows.take(all, "optimizer", prepare_of).by_default("");
  rows.take(all, "momentum", prepare_of);
  rows.take(all, "weight-decay", prepare_of).needs({"optimizer"});
  rows.take(all, "decay", prepare_of).always();
  rows.take(all, "decay-scale", prepare_of).always();
  rows.take(all,
            {"beta1", "beta2", "epsilon", "projection-rank", "projection-every", "projection-scale",
             "distance"},
            prepare_of);
  rows.take(
      all,
      {"train", "freeze", "last-layers", "only-biases", "init", "no-training-mode", "untie", "tie"},
      prepare_of);
  rows.take(budget_rows(), "train-budget", budget_of)
      .excludes("only-biases")
      .excludes("lora")
      .excludes("ia3")
      .excludes("prompt-tokens");
  rows.take(budget_rows(), "budget-batches", budget_of);
  rows.take(all,
            {"lora", "lora-alpha", "lora-targets", "lora-dropout", "rslora", "dora", "lora-init"},
            prepare_of);
  rows.take(all, {"ia3", "ia3-feedforward", "prompt-tokens"}, prepare_of);
  rows.take(all, {"clip-norm", "clip-value", "lr-scale", "unfreeze-at", "accumulate"}, prepare_of);
  rows.take(all, "ema", prepare_of)
      .says("Evaluate and export exponential averages of parameters with this decay, as 0.999");
  rows.take(all, "swa", prepare_of)
      .says("Evaluate and export averages of parameters over all steps");
  rows.take(all, {"average-from", "loss-scale"}, prepare_of);
  rows.take(all, {"preprocess", "quantize-frozen", "qat"}, prepare_of);
}

void add_training(Finetune& rows) {
  const Rows<TrainTarget>& all = train_rows();
  rows.take(all, "epochs", train_of).by_default("").says("Passes over the data at most");
  rows.take(all, "batch-size", train_of).by_default("");
  rows.take(all, "learning-rate", train_of).says("Learning rate");
  rows.take(all,
            {"validation-split", "folds", "eval-every", "augment", "max-time", "max-steps", "map"},
            train_of);
  rows.take(all, "schedule", train_of).by_default("");
  rows.take(all, "warmup", train_of).needs({"schedule"});
  rows.take(
      all,
      {"final-rate", "step-factor", "step-every", "power", "plateau-patience", "plateau-monitor"},
      train_of);
  rows.take(
      all,
      {"checkpoint", "checkpoint-every", "keep-last", "resume", "resume-if-exists", "overwrite"},
      train_of);
  rows.take(all, "metrics", train_of)
      .says(
          "Metrics of the validation, NAME,NAME,... (docs/metrics.md); those of the targets, or "
          "of a loss that is given, if absent");
  rows.take(all, {"class-axis", "on-nan", "stop-on-nan", "log-dir", "report"}, train_of);
}

Finetune make_finetune_rows() {
  Finetune rows(OptionGroup::finetune);
  add_choices(rows);
  add_columns(rows);
  rows.heading("");
  add_preparation(rows);
  add_training(rows);
  rows.forget_others();
  return rows;
}

void require_stopping(const FinetuneTarget& target, OptionSpelling spelling) {
  if (target.options.patience != 0 || !target.train.options.early_stopping) return;
  throw Error(ErrorCode::invalid_option,
              spelled("monitor", spelling) + " and " + spelled("min-delta", spelling) +
                  " have no effect with " + spelled("patience", spelling) + " 0");
}

}  // namespace

const Rows<FinetuneTarget>& finetune_rows() {
  static const Finetune rows = make_finetune_rows();
  return rows;
}

FinetuneOptions finished(FinetuneTarget target, const OptionValues& values,
                         OptionSpelling spelling) {
  require_stopping(target, spelling);
  FinetuneOptions& to = target.options;
  to.targets = target.network.targets;
  to.prepare = std::move(target.prepare.options);
  to.trainer = std::move(target.train.options);
  to.trainer.averaged = to.prepare.average.has_value();
  // The structs keep their defaults: finetune() refuses others.
  const PrepareOptions plain;
  const TrainerOptions fit;
  const auto is_given = [&](std::string_view name) {
    return std::any_of(values.begin(), values.end(), [&](const auto& value) {
      return find_option(OptionGroup::finetune, value.first)->name == name;
    });
  };
  const auto give = [&](const char* name, auto& member, auto& place, const auto& present) {
    if (is_given(name)) member = std::exchange(place, present);
  };
  give("loss", to.loss, to.prepare.loss, plain.loss);
  give("optimizer", to.optimizer, to.prepare.optimizer, plain.optimizer);
  give("preprocess", to.preprocess, to.prepare.preprocess, plain.preprocess);
  give("learning-rate", to.learning_rate, to.trainer.learning_rate, fit.learning_rate);
  give("schedule", to.schedule, to.trainer.schedule, fit.schedule);
  give("epochs", to.epochs, to.trainer.epochs, fit.epochs);
  give("batch-size", to.batch_size, to.trainer.batch_size, fit.batch_size);
  give("validation-split", to.validation_split, to.trainer.validation_split, fit.validation_split);
  return std::move(to);
}

}  // namespace ondine::options
