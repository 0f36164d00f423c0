#include "graph/training/prepare/updates/optimizer.h"

#include <optional>

#include "core/message.h"
#include "graph/training/prepare/updates/averages.h"
#include "graph/training/prepare/updates/gradients.h"
#include "graph/training/prepare/updates/low_rank.h"
#include "graph/training/prepare/updates/rate_groups.h"
#include "graph/training/prepare/updates/schedule.h"
#include "graph/training/prepare/updates/step.h"

namespace ondine::graph {
namespace {

class OptimizerWriter {
 public:
  OptimizerWriter(GraphWriter& writer, const PrepareOptions& options, LossScaler& scaler,
                  Properties& bindings, const OptimizerStart& start, const OptimizerPlan& plan)
      : writer_(&writer),
        options_(&options),
        scaler_(&scaler),
        steps_(writer, scaler, bindings),
        start_(&start),
        plan_(&plan),
        weight_decay_(
            std::visit([](const auto& one) { return one.weight_decay; }, options.optimizer)) {}

  OptimizerValues write(std::vector<std::string> gradients,
                        const std::vector<const InitializerDef*>& trained) {
    require_rate_groups(*options_, trained);
    write_settings();
    std::vector<DType> dtypes;
    for (const InitializerDef* one : trained) dtypes.push_back(updated_type(*one));
    scaler_->decide(gradients, dtypes);
    if (counts_steps()) steps_.bind(step_, steps_.next_step, Tensor::scalar(start_->step));
    write_clipping(*writer_, gradients, trained, *options_);
    for (std::size_t i = 0; i < trained.size(); ++i) update(*trained[i], gradients[i]);
    return {rate_, scheduled_, std::move(averages_), std::move(masters_)};
  }

 private:
  bool counts_steps() const {
    const bool is_stepless = std::holds_alternative<Sgd>(options_->optimizer) ||
                             std::holds_alternative<Lion>(options_->optimizer) ||
                             std::holds_alternative<Mezo>(options_->optimizer);
    return !is_stepless || options_->average || waits(*options_) || has_schedule(*options_);
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
    steps_.base_rate = scheduled_.empty() ? rate_ : scheduled_;
    rates_.emplace(*writer_, *options_, steps_.base_rate, step_);
    if (options_->average) {
      average_weight_ = write_average_weight(*writer_, *options_->average, steps_.next_step);
    }
  }

  void write_step_count() {
    step_ = writer_->initializer("step", Tensor::scalar(start_->step));
    const std::string one = writer_->initializer("step.one", Tensor::scalar(std::int64_t{1}));
    steps_.next_step = writer_->node("Add", {step_, one}, steps_.next_hint(step_));
    adam_step_ = start_->corrects_bias
                     ? steps_.next_step
                     : writer_->initializer("step.none", Tensor::scalar(std::int64_t{0}));
  }

  void update(const InitializerDef& parameter, const std::string& gradient) {
    ParameterStep step{&parameter, updated_type(parameter), parameter.name, gradient};
    step.rate = &rates_->of(parameter.name);
    const auto decay = plan_->roles.decay.find(parameter.name);
    step.decay = weight_decay_ * (decay == plan_->roles.decay.end() ? 1 : decay->second);
    if (step.dtype == parameter.value.dtype()) {
      step.next = steps_.next_hint(parameter.name);
      average(step, steps_.bind(parameter.name, write_step(step), parameter.value));
      return;
    }
    const MasterWeight master = write_master(*writer_, parameter);
    masters_.emplace(parameter.name, master.name);
    step.x = master.current;
    step.next = steps_.next_hint(master.name);
    const std::string kept =
        scaler_->kept(write_step(step), master.current, master.value, master.name + ".next");
    steps_.bind_value(master.name, kept, master.value);
    steps_.bind_value(parameter.name,
                      writer_->cast(kept, parameter.value.dtype(), parameter.name + ".next"),
                      parameter.value);
    average(step, kept);
  }

  void average(const ParameterStep& step, const std::string& next) {
    if (!options_->average) return;
    const AverageState state =
        write_average(*writer_, *step.parameter, step.dtype, next, average_weight_);
    steps_.bind(state.name, state.next, state.initial);
    averages_.push_back(state.name);
  }

  std::string write_step(const ParameterStep& step) {
    return std::visit([&](const auto& settings) { return write_rule(step, settings); },
                      options_->optimizer);
  }

  std::string write_rule(const ParameterStep& step, const Sgd&) {
    std::string g = step.g;
    if (step.decay != 0) {
      const std::string decay =
          steps_.mul(step.x, steps_.number("decay", static_cast<double>(step.decay), step.dtype),
                     step.x + ".decay");
      g = steps_.add(g, decay, step.x + ".decayed_gradient");
    }
    const std::string change =
        steps_.mul(g, step.rate->as(*writer_, step.dtype), step.x + ".change");
    return steps_.sub(step.x, change, step.next);
  }

  std::string write_rule(const ParameterStep& step, const Momentum& settings) {
    return momentum(step, "standard", settings.momentum);
  }

  std::string write_rule(const ParameterStep& step, const Nesterov& settings) {
    return momentum(step, "nesterov", settings.momentum);
  }

  std::string momentum(const ParameterStep& step, const char* mode, float alpha) {
    const State v = state(step, ".momentum", 0);
    const auto out = writer_->nodes("Momentum", {step.rate->name, step_, step.x, step.g, v.name},
                                    {step.next, steps_.next_hint(v.name)},
                                    {{"alpha", alpha},
                                     {"beta", 1.0F},
                                     {"mode", std::string(mode)},
                                     {"norm_coefficient", step.decay}},
                                    training_domain);
    steps_.bind(v.name, out[1], v.value);
    return out[0];
  }

  std::string write_rule(const ParameterStep& step, const Adagrad& settings) {
    const State h = state(step, ".squares", 0);
    const auto out = writer_->nodes(
        "Adagrad", {step.rate->name, step_, step.x, step.g, h.name},
        {step.next, steps_.next_hint(h.name)},
        {{"epsilon", settings.epsilon}, {"norm_coefficient", step.decay}}, training_domain);
    steps_.bind(h.name, out[1], h.value);
    return out[0];
  }

  std::string write_rule(const ParameterStep& step, const Adam& settings) {
    return adam(step, settings, step.decay, step.next);
  }

  std::string write_rule(const ParameterStep& step, const AdamW& settings) {
    return adamw(step, settings);
  }

  // With the coefficients of AdamW.
  template <class Settings>
  std::string adamw(const ParameterStep& step, const Settings& settings) {
    if (step.decay == 0) return adam(step, settings, 0, step.next);
    const std::string stepped = adam(step, settings, 0, step.x + ".adam");
    return steps_.decayed(step, stepped, start_->decays_after_step ? stepped : step.x);
  }

  template <class Settings>
  static AdamW with_epsilon(const Settings& settings) {
    return {.beta1 = settings.beta1, .beta2 = settings.beta2};
  }

  // The operator corrects its bias for T > 0, so T is the number of this step counted from 1; with
  // T = 0 it corrects nothing.
  template <class Settings>
  std::string adam(const ParameterStep& step, const Settings& settings, float decay,
                   const std::string& next) {
    const State v = state(step, ".mean", 0);
    const State h = state(step, ".squares", 1);
    const auto out =
        writer_->nodes("Adam", {step.rate->name, adam_step_, step.x, step.g, v.name, h.name},
                       {next, steps_.next_hint(v.name), steps_.next_hint(h.name)},
                       {{"alpha", settings.beta1},
                        {"beta", settings.beta2},
                        {"epsilon", settings.epsilon},
                        {"norm_coefficient", decay}},
                       training_domain);
    steps_.bind(v.name, out[1], v.value);
    steps_.bind(h.name, out[2], h.value);
    return out[0];
  }

  std::string write_rule(const ParameterStep& step, const Lion& settings) {
    return write_lion(steps_, step, settings);
  }

  std::string write_rule(const ParameterStep& step, const Adafactor&) {
    return write_adafactor(steps_, step);
  }

  std::string write_rule(const ParameterStep& step, const Muon& settings) {
    if (!plan_->roles.hidden.contains(step.parameter->name)) return adamw(step, settings);
    return write_muon(steps_, step, settings);
  }

  std::string write_rule(const ParameterStep& step, const ScheduleFree& settings) {
    return write_schedule_free(steps_, step, settings, plan_->points);
  }

  std::string write_rule(const ParameterStep& step, const AdamW8& settings) {
    const std::int64_t block = block_size(step.shape());
    if (block == 0) return adamw(step, settings);
    return write_adamw8(steps_, step, settings, block);
  }

  std::string write_rule(const ParameterStep& step, const GaLore& settings) {
    if (!has_low_rank(step.shape(), settings.rank)) return adamw(step, with_epsilon(settings));
    return write_galore(steps_, step, settings);
  }

  std::string write_rule(const ParameterStep& step, const Apollo& settings) {
    if (!has_low_rank(step.shape(), settings.rank)) return adamw(step, with_epsilon(settings));
    return write_apollo(steps_, step, settings);
  }

  std::string write_rule(const ParameterStep& step, const Mezo&) {
    const std::string change =
        steps_.mul(step.g, step.rate->as(*writer_, step.dtype), step.x + ".change");
    const bool decays = step.decay != 0;
    const std::string stepped =
        steps_.sub(step.x, change, decays ? step.x + ".undecayed" : step.next);
    return decays ? steps_.decayed(step, stepped, step.x) : stepped;
  }

  struct State {
    std::string name;
    Tensor value;
  };
  State state(const ParameterStep& step, const char* suffix, std::size_t moment) {
    const InitializerDef& parameter = *step.parameter;
    const DType dtype = step.dtype;
    const Shape& shape = step.shape();
    Tensor value(dtype, shape);
    const auto found = start_->moments.find(parameter.name);
    if (found != start_->moments.end() && moment < found->second.size()) {
      value = found->second[moment];
      if (value.dtype() != dtype || !(value.shape() == shape)) {
        fail(ErrorCode::mismatch, "moment ", moment, " of parameter ", quoted(parameter.name),
             " is a ", value.dtype(), value.shape(), ", needed is a ", dtype, shape);
      }
    }
    return {steps_.state(parameter.name + suffix, value), value};
  }

  GraphWriter* writer_;
  const PrepareOptions* options_;
  LossScaler* scaler_;
  StepWriter steps_;
  const OptimizerStart* start_;
  const OptimizerPlan* plan_;
  Masters masters_;
  float weight_decay_;
  std::string rate_;
  std::string scheduled_;
  std::string step_;
  std::string adam_step_;
  std::optional<RateGroups> rates_;
  ScalarValue average_weight_;
  std::vector<std::string> averages_;
};

}  // namespace

OptimizerValues write_optimizer(GraphWriter& writer, std::vector<std::string> gradients,
                                const std::vector<const InitializerDef*>& trained,
                                const PrepareOptions& options, LossScaler& scaler,
                                Properties& bindings, const OptimizerStart& start,
                                const OptimizerPlan& plan) {
  return OptimizerWriter(writer, options, scaler, bindings, start, plan)
      .write(std::move(gradients), trained);
}

}  // namespace ondine::graph
