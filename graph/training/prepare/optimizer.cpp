#include "graph/training/prepare/optimizer.h"

#include <map>

#include "core/message.h"

namespace ondine::graph {
namespace {

// In which a parameter is updated.
DType updated_type(const InitializerDef& parameter) {
  const DType dtype = parameter.value.dtype();
  return is_low_precision(dtype) ? DType::float32 : dtype;
}

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

  WrittenOptimizer write(const LossValues& loss,
                         const std::vector<const InitializerDef*>& trained) {
    write_settings();
    std::vector<std::string> gradients = write_gradients(loss, trained);
    std::vector<DType> dtypes;
    for (const InitializerDef* one : trained) dtypes.push_back(updated_type(*one));
    scaler_->decide(gradients, dtypes);
    if (counts_steps()) bind(step_, next_step_, Tensor::scalar(start_->step));
    if (options_->clip_norm) clip(gradients, trained);
    for (std::size_t i = 0; i < trained.size(); ++i) update(*trained[i], gradients[i]);
    return {rate_, std::move(masters_)};
  }

 private:
  bool counts_steps() const { return !std::holds_alternative<Sgd>(options_->optimizer); }

  void write_settings() {
    const std::string hint = "learning_rate";
    const float rate =
        std::visit([](const auto& one) { return one.learning_rate; }, options_->optimizer);
    rate_ = writer_->initializer(hint, Tensor::scalar(rate));
    ValueDef input;
    input.name = rate_;
    input.type = tensor_type(DType::float32, std::vector<DimDef>{});
    writer_->graph().inputs.push_back(std::move(input));
    if (!counts_steps()) return;
    step_ = writer_->initializer("step", Tensor::scalar(start_->step));
    const std::string one = writer_->initializer("step.one", Tensor::scalar(std::int64_t{1}));
    next_step_ = writer_->node("Add", {step_, one}, next_hint(step_));
    adam_step_ = start_->corrects_bias
                     ? next_step_
                     : writer_->initializer("step.none", Tensor::scalar(std::int64_t{0}));
  }

  // In the types of the updates, without the factor on the loss.
  std::vector<std::string> write_gradients(const LossValues& loss,
                                           const std::vector<const InitializerDef*>& trained) {
    const std::string y = scaler_->scaled(loss.loss, loss.dtype);
    std::vector<std::string> xs;
    std::vector<std::string> hints;
    for (const InitializerDef* parameter : trained) {
      xs.push_back(parameter->name);
      hints.push_back(parameter->name + ".gradient");
    }
    std::vector<std::string> gradients =
        writer_->nodes("Gradient", xs, hints, {{"xs", xs}, {"y", y}}, training_domain);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const DType dtype = updated_type(*trained[i]);
      if (dtype != trained[i]->value.dtype()) {
        gradients[i] = writer_->cast(gradients[i], dtype, hints[i] + ".float");
      }
      gradients[i] = scaler_->unscaled(gradients[i], dtype, hints[i] + ".unscaled");
    }
    return gradients;
  }

  // g <- g clip / max(clip, |g|), |g| over all gradients together.
  void clip(std::vector<std::string>& gradients,
            const std::vector<const InitializerDef*>& trained) {
    std::string sum;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      std::string square = writer_->node("ReduceSumSquare", {gradients[i]}, "clip.square",
                                         {{"keepdims", std::int64_t{0}}});
      if (updated_type(*trained[i]) != DType::float32) {
        square = writer_->cast(square, DType::float32, "clip.square");
      }
      sum = sum.empty() ? square : writer_->node("Add", {sum, square}, "clip.sum");
    }
    const std::string bound = writer_->scalar("clip.bound", *options_->clip_norm, DType::float32);
    const std::string norm = writer_->node("Sqrt", {sum}, "clip.norm");
    const std::string divisor = writer_->node("Max", {norm, bound}, "clip.divisor");
    scales_[DType::float32] = writer_->node("Div", {bound, divisor}, "clip.scale");
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      gradients[i] = writer_->node("Mul", {gradients[i], as(scales_, updated_type(*trained[i]))},
                                   trained[i]->name + ".clipped");
    }
  }

  using ByDType = std::map<DType, std::string>;

  // A float32 scalar in the type of a parameter, cast once.
  const std::string& as(ByDType& values, DType dtype) {
    std::string& value = values[dtype];
    if (value.empty()) value = writer_->cast(values[DType::float32], dtype, values[DType::float32]);
    return value;
  }

  const std::string& rate(DType dtype) {
    rates_[DType::float32] = rate_;
    return as(rates_, dtype);
  }

  void update(const InitializerDef& parameter, const std::string& gradient) {
    const DType dtype = updated_type(parameter);
    if (dtype == parameter.value.dtype()) {
      const std::string next =
          step_of(parameter, dtype, parameter.name, gradient, next_hint(parameter.name));
      bind(parameter.name, next, parameter.value);
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
  }

  std::string next_hint(const std::string& variable) const {
    return variable + (scaler_->is_active() ? ".stepped" : ".next");
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
    const auto out =
        writer_->nodes("Momentum", {rate_, step_, x, g, v.name}, {next, next_hint(v.name)},
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
        "Adagrad", {rate_, step_, x, g, h.name}, {next, next_hint(h.name)},
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
        writer_->nodes("Adam", {rate_, adam_step_, x, g, v.name, h.name},
                       {decoupled ? x + ".adam" : next, next_hint(v.name), next_hint(h.name)},
                       {{"alpha", settings.beta1},
                        {"beta", settings.beta2},
                        {"epsilon", settings.epsilon},
                        {"norm_coefficient", is_adamw ? 0.0F : weight_decay_}},
                       training_domain);
    bind(v.name, out[1], v.value);
    bind(h.name, out[2], h.value);
    if (!decoupled) return out[0];
    std::string& rate_decay = rate_decays_[dtype];
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

  void bind(const std::string& variable, const std::string& next, const Tensor& like) {
    bind_value(variable, scaler_->kept(next, variable, like, variable + ".next"), like);
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
  std::string step_;
  std::string next_step_;
  std::string adam_step_;
  ByDType rates_;
  ByDType scales_;
  ByDType decays_;
  ByDType rate_decays_;
};

}  // namespace

WrittenOptimizer write_optimizer(GraphWriter& writer, const LossValues& loss,
                                 const std::vector<const InitializerDef*>& trained,
                                 const PrepareOptions& options, LossScaler& scaler,
                                 Properties& bindings, const OptimizerStart& start) {
  return OptimizerWriter(writer, options, scaler, bindings, start).write(loss, trained);
}

}  // namespace ondine::graph
