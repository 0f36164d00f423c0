// From a model and data to a tuned model in one call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <ondine/data.h>
#include <ondine/dataset.h>
#include <ondine/export.h>
#include <ondine/model.h>
#include <ondine/networks.h>
#include <ondine/prepare.h>
#include <ondine/table.h>
#include <ondine/train_budget.h>
#include <ondine/trainer.h>

namespace ondine {

// An inference model: a file, the bytes of one, a loaded model with its present weights, which must
// outlive the call, or none: then new_network() makes one.
struct FinetuneModel {
  FinetuneModel() = default;
  FinetuneModel(std::filesystem::path file) : value(std::move(file)) {}            // NOLINT
  FinetuneModel(const char* file) : FinetuneModel(std::filesystem::path(file)) {}  // NOLINT
  FinetuneModel(std::string file) : FinetuneModel(std::filesystem::path(file)) {}  // NOLINT
  FinetuneModel(std::vector<std::byte> bytes) : value(std::move(bytes)) {}         // NOLINT
  FinetuneModel(const Model& model) : value(&model) {}                             // NOLINT
  FinetuneModel(Model&& model) = delete;

  std::variant<std::monostate, std::filesystem::path, std::vector<std::byte>, const Model*> value;
};

// A data set, or places that Dataset::open reads; none where it is optional.
struct FinetuneData {
  FinetuneData() = default;
  FinetuneData(std::filesystem::path place) : value(std::vector{std::move(place)}) {}    // NOLINT
  FinetuneData(const char* place) : FinetuneData(std::filesystem::path(place)) {}        // NOLINT
  FinetuneData(std::string place) : FinetuneData(std::filesystem::path(place)) {}        // NOLINT
  FinetuneData(std::vector<std::filesystem::path> places) : value(std::move(places)) {}  // NOLINT
  FinetuneData(Dataset data) : value(std::move(data)) {}                                 // NOLINT

  std::variant<std::monostate, std::vector<std::filesystem::path>, Dataset> value;
};

// Treatment of the network's last layer.
enum class HeadChoice : std::uint8_t {
  automatic,  // replaced where its outputs do not fit the targets
  keep,       // Error(mismatch) where they do not fit
  replace,
};

// Members of the first group take the place of what finetune() chooses by the rules of
// docs/finetune.md. The four structs hold everything else, and have their defaults where a member
// of the first group has the same meaning: Error(mismatch) for others.
struct FinetuneOptions {
  std::optional<TargetKind> targets = {};
  HeadChoice head = HeadChoice::automatic;
  std::optional<Loss> loss = {};  // one that a metric fits: neither triplet nor contrastive
  std::optional<std::vector<Preprocess>> preprocess = {};  // empty: none
  std::optional<Optimizer> optimizer = {};                 // with its learning rate
  std::optional<float> learning_rate = {};
  std::optional<Schedule> schedule = {};
  std::optional<std::uint64_t> epochs = {};
  std::optional<std::uint64_t> batch_size = {};
  std::optional<double> validation_split = {};  // in (0, 1)
  std::optional<std::uint64_t> patience = {};   // epochs; 0: no early stopping
  std::optional<NetworkKind> network = {};      // without a model
  // Classes weigh as Dataset::balanced_class_weights() of the training rows says, in place of
  // prepare.class_weights. Error(mismatch) with both, for rows without one class each, and for
  // losses without class weights.
  bool balances_classes = false;
  // Whether to train once more after evaluation, from the initial state on all rows, validation
  // rows included. If empty: with fewer than 2,000 rows of one target each, unless validation data
  // are given, max_time or max_steps limits the run, or it is a cross-validation; `true` is
  // Error(mismatch) then.
  std::optional<bool> refit = {};

  // Trains what choose_trained() chooses by the training rows, for steps of a batch: `rows` is 0.
  // Error(mismatch) for a network that has not learned, and with adapters.
  std::optional<TrainBudget> train_budget = {};

  // Columns of a table, as PrepareOptions::table plans them from the training rows. Without a model
  // what it leaves open is chosen: columns of text are categories, a missing number becomes the
  // median, and numbers are standardized. Error(mismatch) for data that are no table.
  TableOptions table = {};

  // Validation data, instead of a part of `data`.
  FinetuneData validation = {};
  // The tuned inference model; empty: none is written.
  std::filesystem::path output = {};

  // Not `loss`, `head`, `optimizer` and `preprocess`. `label` names the label's input.
  PrepareOptions prepare = {};
  // Not `epochs`, `batch_size`, `validation_split`, `learning_rate`, `schedule` and `seed`; a
  // metric for `early_stopping` counts, its patience is the one above and not 0. `report`,
  // `checkpoint`, `log_dir`, `augmentation`, `metrics` and the like are used as they are.
  TrainerOptions trainer = {};
  // Options of data that is given as places. The model's data record supplies unset options.
  DatasetOptions data = {};
  // `seed` is that of weights, split and order.
  LoadOptions load = {};

  // Called before training with what FinetuneReport::assumed will hold and the rows of both parts.
  std::function<void(std::span<const std::string>)> on_assumed = {};
  // As Trainer::on_step and Trainer::on_epoch.
  std::function<bool(const StepReport&)> on_step = {};
  std::function<void(const EpochReport&)> on_epoch = {};
};

struct FinetuneReport {
  // At most five lines, each a topic: targets and loss, network, preprocessing, rate, training.
  std::vector<std::string> assumed;
  std::vector<std::string> notes;  // of the data and of what prepare found
  std::string network;             // of a new network; empty for a given one
  PrepareReport prepared;
  FitReport fit;
  std::uint64_t training_rows = 0;
  std::uint64_t validation_rows = 0;
  // Metrics of the tuned model on the validation rows, before it was trained once more.
  Evaluation evaluation;
  std::uint64_t refit_rows = 0;  // of the last training on all rows; 0: there was none
  std::string metric;            // the first of its metrics that matters: "accuracy", "iou", "rmse"
  std::optional<Model> model;    // tuned, with its training information
  std::filesystem::path output;  // what was written; empty: nothing
};
// "accuracy 0.91 on 6000 validation rows; wrote tuned.onnx"
ONDINE_API std::ostream& operator<<(std::ostream& out, const FinetuneReport& report);

// Looks at model and data, prepares, trains with validation and early stopping, restores the best
// state, evaluates and exports. What it chooses follows from model, data and options alone
// (docs/finetune.md), and `assumed` says it. A run that a callback stops is not exported; with a
// checkpoint it can be resumed. Throws what Dataset::open, prepare, Trainer::fit and
// export_inference throw, and Error(mismatch) where a choice cannot be known, naming the option
// that decides.
ONDINE_API FinetuneReport finetune(const FinetuneModel& model, const FinetuneData& data,
                                   const FinetuneOptions& options = {});

}  // namespace ondine
