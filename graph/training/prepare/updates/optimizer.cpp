#include "graph/training/prepare/updates/optimizer.h"

#include <map>
#include <optional>

#include "core/message.h"
#include "graph/training/prepare/updates/averages.h"
#include "graph/training/prepare/updates/gradients.h"
#include "graph/training/prepare/updates/rate_groups.h"
#include "graph/training/prepare/updates/schedule.h"

namespace ondine::graph {
namespace {

class OptimizerWriter {
 public:
  OptimizerWriter(GraphWriter& writer, const PrepareOptions& options, LossScaler& scaler,
                  Properties& bindings, const OptimizerStart& start)
      : writer_(&writer),
        options_(&options),
        scaler_(&scaler),
        bindings_(&bindings),
        start_(&start),
        weight_decay_(
            std::visit([](const auto& one) { return one.weight_decay; }, options.optimizer)) {}

  OptimizerValues write(std::vector<std::string> gradients,
                        const std::vector<const InitializerDef*>& trained) {
    require_rate_groups(*options_, trained);
    write_settings();
    std::vector<DType> dtypes;
    for (const InitializerDef* one : trained) dtypes.push_back(updated_type(*one));
    scaler_->decide(gradients, dtypes);
    if (counts_steps()) bind(step_, next_step_, Tensor::scalar(start_->step));
    write_clipping(*writer_, gradients, trained, *options_);
    for (std::size_t i = 0; i < trained.size(); ++i) update(*trained[i], gradients[i]);
    return {rate_, scheduled_, std::move(averages_), std::move(masters_)};
  }

 private:
  bool counts_steps() const {
    return !std::holds_alternative<Sgd>(options_->optimizer) || options_->average ||
           waits(*options_) || has_schedule(*options_);
  }

  void write_settings() {
    const std::string hint = "learning_rate";
    const float rate =
        std::visit([](const auto& one) { return one.learning_rate; }, options_->optimizer);
    rate_ = writer_->initializer(hint, Tensor::scalar(rate));
    ValueDef input;
    input.name = rate_;
    input.type = tensor_type(DType::float32, std::vector<DimDef>{});
    writer_->graph().inputs.push_back(std::move(input));
    if (counts_steps()) write_step_count();
    if (has_schedule(*options_)) {
      scheduled_ = write_schedule(*writer_, *options_->schedule, rate_, step_);
      writer_->output(scheduled_, DType::float32, std::vector<DimDef>{});
    }
    rates_.emplace(*writer_, *options_, scheduled_.empty() ? rate_ : scheduled_, step_);
    if (options_->average) {
      average_weight_ = write_average_weight(*writer_, *options_->average, next_step_);
    }
  }

  void write_step_count() {
    step_ = writer_->initializer("step", Tensor::scalar(start_->step));
    const std::string one = writer_->initializer("step.one", Tensor::scalar(std::int64_t{1}));
    next_step_ = writer_->node("Add", {step_, one}, next_hint(step_));
    adam_step_ = start_->corrects_bias
                     ? next_step_
                     : writer_->initializer("step.none", Tensor::scalar(std::int64_t{0}));
  }

  using ByDType = std::map<DType, std::string>;

  const std::string& rate(DType dtype) { return current_rate_->as(*writer_, dtype); }

  void update(const InitializerDef& parameter, const std::string& gradient) {
    const DType dtype = updated_type(parameter);
    current_rate_ = &rates_->of(parameter.name);
    if (dtype == parameter.value.dtype()) {
      const std::string next =
          step_of(parameter, dtype, parameter.name, gradient, next_hint(parameter.name));
      average(parameter, dtype, bind(parameter.name, next, parameter.value));
      return;
    }
    const MasterWeight master = write_master(*writer_, parameter);
    masters_.emplace(parameter.name, master.name);
    const std::string next =
        step_of(parameter, dtype, master.current, gradient, next_hint(master.name));
    const std::string kept =
        scaler_->kept(next, master.current, master.value, master.name + ".next");
    bind_value(master.name, kept, master.value);
    bind_value(parameter.name,
               writer_->cast(kept, parameter.value.dtype(), parameter.name + ".next"),
               parameter.value);
    average(parameter, dtype, kept);
  }

  std::string next_hint(const std::string& variable) const {
    return variable + (scaler_->is_active() ? ".stepped" : ".next");
  }

  void average(const InitializerDef& parameter, DType dtype, const std::string& next) {
    if (!options_->average) return;
    const AverageState state = write_average(*writer_, parameter, dtype, next, average_weight_);
    bind(state.name, state.next, state.initial);
    averages_.push_back(state.name);
  }

  std::string step_of(const InitializerDef& parameter, DType dtype, const std::string& x,
                      const std::string& g, const std::string& next) {
    return std::visit(
        [&](const auto& settings) { return write_step(settings, parameter, dtype, x, g, next); },
        options_->optimizer);
  }

  std::string write_step(const Sgd&, const InitializerDef&, DType dtype, const std::string& x,
                         std::string g, const std::string& next) {
    if (weight_decay_ != 0) {
      const std::string decay = writer_->node("Mul", {x, decay_factor(dtype)}, x + ".decay");
      g = writer_->node("Add", {g, decay}, x + ".decayed_gradient");
    }
    const std::string change = writer_->node("Mul", {g, rate(dtype)}, x + ".change");
    return writer_->node("Sub", {x, change}, next);
  }

  std::string write_step(const Momentum& settings, const InitializerDef& parameter, DType dtype,
                         const std::string& x, const std::string& g, const std::string& next) {
    return momentum("standard", settings.momentum, parameter, dtype, x, g, next);
  }

  std::string write_step(const Nesterov& settings, const InitializerDef& parameter, DType dtype,
                         const std::string& x, const std::string& g, const std::string& next) {
    return momentum("nesterov", settings.momentum, parameter, dtype, x, g, next);
  }

  std::string momentum(const char* mode, float alpha, const InitializerDef& parameter, DType dtype,
                       const std::string& x, const std::string& g, const std::string& next) {
    const State v = state(parameter, dtype, ".momentum", 0);
    const auto out = writer_->nodes("Momentum", {rate(DType::float32), step_, x, g, v.name},
                                    {next, next_hint(v.name)},
                                    {{"alpha", alpha},
                                     {"beta", 1.0F},
                                     {"mode", std::string(mode)},
                                     {"norm_coefficient", weight_decay_}},
                                    training_domain);
    bind(v.name, out[1], v.value);
    return out[0];
  }

  std::string write_step(const Adagrad& settings, const InitializerDef& parameter, DType dtype,
                         const std::string& x, const std::string& g, const std::string& next) {
    const State h = state(parameter, dtype, ".squares", 0);
    const auto out = writer_->nodes(
        "Adagrad", {rate(DType::float32), step_, x, g, h.name}, {next, next_hint(h.name)},
        {{"epsilon", settings.epsilon}, {"norm_coefficient", weight_decay_}}, training_domain);
    bind(h.name, out[1], h.value);
    return out[0];
  }

  // Adam and AdamW. The operator corrects its bias for T > 0, so T is the number of this step
  // counted from 1; with T = 0 it corrects nothing.
  template <class Settings>
  std::string write_step(const Settings& settings, const InitializerDef& parameter, DType dtype,
                         const std::string& x, const std::string& g, const std::string& next) {
    constexpr bool is_adamw = std::is_same_v<Settings, AdamW>;
    const bool decoupled = is_adamw && weight_decay_ != 0;
    const State v = state(parameter, dtype, ".mean", 0);
    const State h = state(parameter, dtype, ".squares", 1);
    const auto out =
        writer_->nodes("Adam", {rate(DType::float32), adam_step_, x, g, v.name, h.name},
                       {decoupled ? x + ".adam" : next, next_hint(v.name), next_hint(h.name)},
                       {{"alpha", settings.beta1},
                        {"beta", settings.beta2},
                        {"epsilon", settings.epsilon},
                        {"norm_coefficient", is_adamw ? 0.0F : weight_decay_}},
                       training_domain);
    bind(v.name, out[1], v.value);
    bind(h.name, out[2], h.value);
    if (!decoupled) return out[0];
    std::string& rate_decay = rate_decays_[{current_rate_, dtype}];
    if (rate_decay.empty()) {
      rate_decay = writer_->node("Mul", {rate(dtype), decay_factor(dtype)}, "decay.rate");
    }
    const std::string& decayed = start_->decays_after_step ? out[0] : x;
    const std::string decay = writer_->node("Mul", {decayed, rate_decay}, x + ".decay");
    return writer_->node("Sub", {out[0], decay}, next);
  }

  const std::string& decay_factor(DType dtype) {
    std::string& name = decays_[dtype];
    if (name.empty()) name = writer_->scalar("decay", weight_decay_, dtype);
    return name;
  }

  struct State {
    std::string name;
    Tensor value;
  };
  State state(const InitializerDef& parameter, DType dtype, const char* suffix,
              std::size_t moment) {
    const Shape& shape = parameter.value.shape();
    Tensor value(dtype, shape);
    const auto found = start_->moments.find(parameter.name);
    if (found != start_->moments.end() && moment < found->second.size()) {
      value = found->second[moment];
      if (value.dtype() != dtype || !(value.shape() == shape)) {
        fail(ErrorCode::mismatch, "moment ", moment, " of parameter ", quoted(parameter.name),
             " is a ", value.dtype(), value.shape(), ", needed is a ", dtype, shape);
      }
    }
    return {writer_->initializer(parameter.name + suffix, value), value};
  }

  // Returns what the variable becomes.
  std::string bind(const std::string& variable, const std::string& next, const Tensor& like) {
    std::string kept = scaler_->kept(next, variable, like, variable + ".next");
    bind_value(variable, kept, like);
    return kept;
  }

  void bind_value(const std::string& variable, const std::string& next, const Tensor& like) {
    writer_->output(next, like);
    bindings_->emplace_back(variable, next);
  }

  GraphWriter* writer_;
  const PrepareOptions* options_;
  LossScaler* scaler_;
  Properties* bindings_;
  const OptimizerStart* start_;
  Masters masters_;
  float weight_decay_;
  std::string rate_;
  std::string scheduled_;
  std::string step_;
  std::string next_step_;
  std::string adam_step_;
  std::optional<RateGroups> rates_;
  ScalarValue* current_rate_ = nullptr;  // of the parameter that is written
  ScalarValue average_weight_;
  std::vector<std::string> averages_;
  ByDType decays_;
  std::map<std::pair<const ScalarValue*, DType>, std::string> rate_decays_;
};

}  // namespace

OptimizerValues write_optimizer(GraphWriter& writer, std::vector<std::string> gradients,
                                const std::vector<const InitializerDef*>& trained,
                                const PrepareOptions& options, LossScaler& scaler,
                                Properties& bindings, const OptimizerStart& start) {
  return OptimizerWriter(writer, options, scaler, bindings, start)
      .write(std::move(gradients), trained);
}

}  // namespace ondine::graph
