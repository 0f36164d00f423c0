#include "tests/fuzz/any_options.h"

#include "tests/fuzz/any_value.h"

namespace ondine::test {
namespace {

class OptionsWriter {
 public:
  OptionsWriter(Choices& choices, const graph::ModelDef& model) : choices_(&choices) {
    for (const auto& input : model.graph.inputs) names_.push_back(input.name);
    for (const auto& init : model.graph.initializers) parameters_.push_back(init.name);
    for (const auto& node : model.graph.nodes) {
      names_.insert(names_.end(), node.outputs.begin(), node.outputs.end());
    }
    names_.emplace_back();
    parameters_.insert(parameters_.end(), {"*", "w*", "w[01]", "none"});
  }

  PrepareOptions write() {
    // Losses that most models fit come first.
    static const std::vector<Loss> usual{Loss::mse, Loss::mse, Loss::softmax_cross_entropy,
                                         Loss::mae, Loss::huber};
    options_.loss =
        choices_->once_in(2) ? static_cast<Loss>(choices_->below(15)) : choices_->pick(usual);
    if (rare()) options_.output = choices_->pick(names_);
    if (rare()) options_.label = choices_->pick(names_);
    choose_loss_settings();
    choose_optimizer();
    choose_parameters();
    choose_steps();
    if (rare()) choose_preprocessing();
    return std::move(options_);
  }

 private:
  bool rare() { return choices_->once_in(6); }
  float real() { return static_cast<float>(any_real(*choices_)); }
  // In (0, 1] mostly.
  float share() {
    static const std::vector<float> usual{0.1F, 0.5F, 0.9F, 0.01F, 1};
    return rare() ? real() : choices_->pick(usual);
  }

  void choose_loss_settings() {
    if (rare()) options_.huber_delta = share();
    if (rare()) options_.label_smoothing = share();
    if (rare()) options_.ignore_index = any_integer(*choices_);
    if (rare()) options_.class_weights.assign(1 + choices_->below(4), share());
    options_.soft_labels = rare();
    if (rare()) options_.focal_gamma = share();
    if (rare()) options_.margin = share();
    if (rare()) options_.ctc_blank = any_integer(*choices_);
    if (rare()) options_.accuracy = false;
    if (rare()) options_.training_mode = false;
  }

  void choose_optimizer() {
    const float decay = rare() ? share() : 0;
    switch (choices_->below(14)) {
      case 0:
        options_.optimizer = Sgd{share(), decay};
        return;
      case 1:
        options_.optimizer = Momentum{share(), share(), decay};
        return;
      case 2:
        options_.optimizer = Nesterov{share(), share(), decay};
        return;
      case 3:
        options_.optimizer = Adagrad{share(), 1e-8F, decay};
        return;
      case 4:
        options_.optimizer = Adam{share(), 0.9F, 0.999F, share(), decay};
        return;
      case 5:
        options_.optimizer = Lion{share(), share(), 0.99F, decay};
        return;
      case 6:
        options_.optimizer = Adafactor{share(), decay};
        return;
      case 7:
        options_.optimizer = Muon{share(), share(), 0.9F, 0.999F, 1e-8F, decay};
        return;
      case 8:
        options_.optimizer = ScheduleFree{share(), share(), 0.999F, 1e-8F, decay};
        return;
      case 9:
        options_.optimizer = AdamW8{share(), share(), 0.999F, 1e-8F, decay};
        return;
      case 10:
        options_.optimizer = GaLore{share(), 2, 3};
        return;
      case 11:
        options_.optimizer = Apollo{share(), 2, 3};
        return;
      case 12:
        options_.optimizer = Mezo{share(), share(), decay};
        return;
      default:
        options_.optimizer = AdamW{share(), share(), 0.999F, 1e-8F, decay};
    }
  }

  void choose_parameters() {
    if (rare()) options_.train = {choices_->pick(parameters_)};
    if (rare()) options_.freeze = {choices_->pick(parameters_)};
    if (rare()) options_.last_layers = choices_->below(4);
    options_.untie = rare();
    options_.tie = rare();
    if (rare()) {
      options_.head = NewHead{choices_->below(4), choices_->pick(names_)};
      if (rare()) options_.head->names = {"one", "two"};
    }
    if (rare()) options_.init = static_cast<WeightInit>(choices_->below(8));
    if (rare()) {
      options_.rate_groups = {{choices_->pick(parameters_), share(), choices_->below(3)}};
    }
    if (rare()) options_.decayed = static_cast<DecayedParameters>(choices_->below(3));
    if (rare()) options_.decay_groups = {{choices_->pick(parameters_), share()}};
  }

  void choose_steps() {
    if (rare()) options_.clip_norm = share();
    if (rare()) options_.clip_value = share();
    if (rare()) options_.average = WeightAverage{share(), choices_->below(3)};
    if (rare()) options_.accumulate = choices_->below(5);
    switch (rare() ? choices_->below(4) : 0) {
      case 1:
        options_.loss_scale = NoLossScale{};
        return;
      case 2:
        options_.loss_scale = StaticLossScale{rare() ? real() : 1024};
        return;
      case 3:
        options_.loss_scale = DynamicLossScale{rare() ? real() : 1024, any_integer(*choices_)};
        return;
      default:
        return;
    }
  }

  void choose_preprocessing() {
    Preprocess one;
    if (rare()) one.input = choices_->pick(names_);
    if (choices_->once_in(2)) one.layout = Layout::nchw;
    if (rare()) one.type = static_cast<DType>(choices_->below(dtype_count));
    if (choices_->once_in(2)) one.scale = 1 / 255.0;
    if (rare()) one.mean.assign(1 + choices_->below(3), share());
    if (rare()) one.deviation.assign(1 + choices_->below(3), share());
    options_.preprocess = {one};
  }

  Choices* choices_;
  std::vector<std::string> names_;
  std::vector<std::string> parameters_;
  PrepareOptions options_;
};

}  // namespace

PrepareOptions any_prepare_options(Choices& choices, const graph::ModelDef& model) {
  return OptionsWriter(choices, model).write();
}

}  // namespace ondine::test
