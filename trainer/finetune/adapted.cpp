#include "trainer/finetune/adapted.h"

#include <algorithm>

#include <ondine/data_record.h>

#include "core/message.h"
#include "graph/training/prepare/losses/table.h"
#include "trainer/data/column.h"
#include "trainer/finetune/choices.h"
#include "trainer/finetune/input_scaling.h"
#include "trainer/finetune/table_columns.h"

namespace ondine::tune {
namespace {

std::string text_of(std::optional<std::int64_t> count) {
  return count ? std::to_string(*count) : "an unknown number of";
}

class Adapter {
 public:
  Adapter(const Opened& opened, const FinetuneOptions& options)
      : opened_(&opened), options_(&options), target_(&opened.facts.target) {
    prepare_ = options.prepare;
    prepare_.loss = options.loss.value_or(loss_for(target_->kind));
    if (target_->ignored && !prepare_.ignore_index) prepare_.ignore_index = target_->ignored;
    if (opened.table) prepare_.table = opened.table;
    prepare_.row_weights = !opened.training.weights().empty();
    weigh_classes();
    const bool takes_index = loss().has(graph::LossSetting::ignore_index);
    if (!takes_index && !options.prepare.ignore_index) prepare_.ignore_index.reset();
    if (opened.is_fresh && prepare_.init == WeightInit::automatic) prepare_.init = WeightInit::keep;
    if (opened.is_fresh && target_->kind == TargetKind::numbers && !opened.network.empty()) {
      prepare_.freeze.emplace_back("target.*");
    }
  }

  Adapted adapt() {
    choose_head();
    adapted_.is_trained = !opened_->is_fresh && adapted_.report.init == WeightInit::keep;
    choose_optimizer();
    choose_scaling();
    if (options_->train_budget) keep_to_budget(*options_->train_budget);
    try_prepare();
    say_loss();
    return std::move(adapted_);
  }

 private:
  const graph::LossTraits& loss() const { return graph::traits_of(prepare_.loss); }

  void weigh_classes() {
    const bool balances = options_->balances_classes;
    if (!balances && prepare_.class_weights.empty()) return;
    if (balances && !prepare_.class_weights.empty()) {
      fail(ErrorCode::mismatch, "balanced class weights (FinetuneOptions::balances_classes) and ",
           "given ones exclude each other");
    }
    if (!loss().has(graph::LossSetting::class_weights)) {
      fail(ErrorCode::mismatch, "class weights (--class-weights) have no effect on the loss ",
           loss().facts.name, "; softmax-cross-entropy and focal have them");
    }
    if (balances) prepare_.class_weights = opened_->training.balanced_class_weights();
  }

  // With the options so far.
  void try_prepare() {
    adapted_.model.emplace(
        ondine::prepare(opened_->model(), prepare_, options_->load, &adapted_.report));
  }

  void put_head() {
    NewHead head{.classes = static_cast<std::size_t>(target_->outputs), .names = target_->names};
    if (target_->kind == TargetKind::numbers && !target_->is_dense()) {
      head.mean = target_->scales.mean;
      head.deviation = target_->scales.deviation;
    }
    prepare_.head = std::move(head);
    adapted_.has_new_head = true;
    prepare_with_head();
    if (fits()) return;
    fail(ErrorCode::mismatch, "no head fits: the network gives ", label_text(), " and the targets ",
         quoted(target_->column), " are ", describe(*target_),
         target_->is_dense() ? " for each position" : " for each row");
  }

  // A network that ends with features has no last layer to replace: the head reads its output.
  void prepare_with_head() {
    try {
      try_prepare();
    } catch (const Error& error) {
      const std::optional<std::string> features = features_output();
      if (error.code() != ErrorCode::mismatch || !features) throw;
      prepare_.head->cut = *features;
      try_prepare();
    }
  }

  // The first output of floating point that has a row for each target.
  std::optional<std::string> features_output() {
    for (const PortInfo& output : opened_->model().outputs()) {
      const bool fits_rank = output.dims && (target_->is_dense() || output.dims->size() == 2);
      if (is_differentiable(output.dtype) && fits_rank) return output.name;
    }
    return {};
  }

  void choose_head() {
    if (options_->head == HeadChoice::replace) {
      put_head();
      return;
    }
    try_prepare();
    if (is_single_logit()) {
      prepare_.loss = Loss::bce_with_logits;
      try_prepare();
    }
    if (fits() && scales_output()) return;
    if (fits()) {
      const bool is_said = !opened_->network.empty() || options_->head == HeadChoice::keep;
      if (!is_said) adapted_.head = cat("the network's own head is kept: it fits", order_text());
      return;
    }
    const std::optional<std::int64_t> outputs = class_count();
    if (options_->head == HeadChoice::keep) {
      fail(ErrorCode::mismatch, "the network's head, with ", text_of(outputs),
           " outputs and labels ", label_text(), ", does not fit ", describe(*target_));
    }
    prepare_.loss = options_->loss.value_or(loss_for(target_->kind));
    put_head();
    adapted_.head = cat(
        "a new head for ", describe(*target_), " reads ", quoted(adapted_.report.cut),
        prepare_.head->cut.empty() ? cat("; the one with ", text_of(outputs), " outputs is removed")
                                   : std::string(", an output of the network"));
  }

  // Untrained layers would first have to learn the size of the numbers. False where no head can be
  // put.
  bool scales_output() {
    const bool has_scale = opened_->is_fresh || options_->head == HeadChoice::keep ||
                           target_->kind != TargetKind::numbers || target_->is_dense();
    if (has_scale || adapted_.report.init == WeightInit::keep) return false;
    Adapted before = std::move(adapted_);
    try {
      put_head();
    } catch (const Error&) {
      adapted_ = std::move(before);
      prepare_.head.reset();
      return false;
    }
    adapted_.head = "the untrained network gets a last layer in the units of the targets";
    return true;
  }

  std::string order_text() const {
    if (target_->names.empty() || opened_->is_fresh) return "";
    return class_names(opened_->model()).empty() ? ", its outputs are the classes in this order"
                                                 : ", with the classes that the model names";
  }

  // One score for two classes is that of the second.
  bool is_single_logit() const {
    return !options_->loss && prepare_.class_weights.empty() &&
           target_->kind == TargetKind::classes && target_->outputs == 2 && !target_->is_dense() &&
           class_count() == 1;
  }

  // The number of classes that the loss reads; nothing where it is not known.
  std::optional<std::int64_t> class_count() const {
    const DataRecord::Prediction prediction = find_prediction(*adapted_.model);
    for (const PortInfo& output : adapted_.model->outputs()) {
      if (output.name != prediction.output || !output.dims) continue;
      std::int64_t count = 1;
      if (prediction.class_axis) {
        const auto axis = static_cast<std::size_t>(*prediction.class_axis);
        if (axis >= output.dims->size()) return {};
        count = (*output.dims)[axis];
      } else {
        for (std::size_t i = 1; i < output.dims->size(); ++i) count *= (*output.dims)[i];
      }
      return count > 0 ? std::optional(count) : std::nullopt;
    }
    return {};
  }

  std::optional<PortInfo> label() const {
    for (const PortInfo& input : adapted_.model->algorithm(0).inputs) {
      if (input.name == prepare_.label) return input;
    }
    return {};
  }

  std::string label_text() const {
    const auto port = label();
    return port ? "labels " + port->type : std::string("no labels");
  }

  bool fits() const {
    const auto port = label();
    if (!port || !port->dims || port->dims->empty()) return false;
    const std::span<const std::int64_t> wanted(port->dims->begin() + 1, port->dims->end());
    const bool has_sizes = std::all_of(target_->row.begin(), target_->row.end(),
                                       [](std::int64_t dim) { return dim >= 0; });
    if (has_sizes ? !data::fit_dims(wanted, target_->row) : wanted.size() != target_->row.size()) {
      return false;
    }
    if (loss().facts.labels != LossLabels::classes) return true;
    const auto count = class_count();
    if (opened_->facts.kind == RowKind::running_text) return !count || *count >= target_->outputs;
    return count == target_->outputs && has_same_names();
  }

  bool has_same_names() const {
    const std::vector<std::string> known = class_names(opened_->model());
    return known.empty() || target_->names.empty() || prepare_.head || known == target_->names;
  }

  std::uint64_t trained_numbers() const {
    std::uint64_t count = 0;
    for (const ParameterInfo& one : adapted_.report.parameters) {
      if (one.trained) count += static_cast<std::uint64_t>(one.shape.size());
    }
    return count;
  }

  void choose_optimizer() {
    const Rate rate = rate_for(adapted_.is_trained, adapted_.has_new_head, trained_numbers());
    adapted_.optimizer = options_->optimizer.value_or(AdamW{.weight_decay = 0.01F});
    float& learning_rate = learning_rate_of(adapted_.optimizer);
    if (options_->learning_rate) {
      learning_rate = *options_->learning_rate;
    } else if (!options_->optimizer) {
      learning_rate = static_cast<float>(rate.rate);
      adapted_.rate = rate.text;
    }
    prepare_.optimizer = adapted_.optimizer;
    if (rate.body == 1 || !options_->prepare.rate_groups.empty()) return;
    adapted_.body_rate = cat("all but the head at ", rate.body, " of the learning rate");
    prepare_.rate_groups.push_back({"*", static_cast<float>(rate.body)});
    for (const std::string& name : adapted_.report.trained) {
      if (!name.starts_with("head.weight") && !name.starts_with("head.bias")) continue;
      prepare_.rate_groups.push_back({name, static_cast<float>(1 / rate.body)});
    }
  }

  void choose_scaling() {
    if (options_->preprocess) {
      prepare_.preprocess = *options_->preprocess;
      return;
    }
    if (opened_->table) {
      adapted_.scaling = describe(*opened_->table);
      return;
    }
    InputScaling found = choose_input_scaling(*opened_, adapted_.is_trained);
    if (found.preprocess) prepare_.preprocess.push_back(std::move(*found.preprocess));
    adapted_.scaling = std::move(found.reason);
  }

  void keep_to_budget(TrainBudget budget) {
    if (opened_->is_fresh) {
      fail(ErrorCode::mismatch, "a budget of training (--train-budget) freezes parameters of a ",
           "network that has learned, but this one is new");
    }
    budget.rows = options_->batch_size.value_or(batch_size_for(opened_->training.rows(), *target_));
    const TrainChoice choice =
        choose_trained(opened_->model(), opened_->training, prepare_, budget, options_->load);
    keep_to(choice, prepare_);
    adapted_.budget = to_string(choice);
  }

  void say_loss() {
    std::string text = cat("target ", quoted(target_->column), ": ", describe(*target_));
    if (!target_->reason.empty()) text += " (" + target_->reason + ")";
    if (prepare_.row_weights) {
      text += "; weights of rows in column " + quoted(opened_->training.weights());
    }
    if (!options_->loss) text += "; loss " + std::string(loss().facts.name);
    if (!options_->loss || !options_->targets) adapted_.loss = std::move(text);
  }

  const Opened* opened_;
  const FinetuneOptions* options_;
  const TargetFacts* target_;
  PrepareOptions prepare_;
  Adapted adapted_;
};

}  // namespace

Adapted adapt(const Opened& opened, const FinetuneOptions& options) {
  return Adapter(opened, options).adapt();
}

}  // namespace ondine::tune
