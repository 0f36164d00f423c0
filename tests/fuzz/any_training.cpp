#include "tests/fuzz/any_training.h"

#include <utility>

#include "tests/fuzz/any_network.h"
#include "tests/support/models.h"

namespace ondine::test {
namespace {

using namespace graph;  // NOLINT

constexpr const char* training_domain = "ai.onnx.preview.training";

ValueDef floats(const std::string& name, const std::vector<std::int64_t>& dims) {
  return tensor_value(name, DType::float32, {dims.begin(), dims.end()});
}

Tensor filled(const std::vector<std::int64_t>& dims, float value) {
  Tensor tensor(DType::float32, Shape(std::span<const std::int64_t>(dims)));
  auto* to = static_cast<float*>(tensor.mutable_data());
  for (std::int64_t i = 0; i < tensor.size(); ++i) to[i] = value;
  return tensor;
}

// w - rate d as a function.
FunctionDef descent_function() {
  FunctionDef function;
  function.name = "Descend";
  function.domain = "local";
  function.inputs = {"w", "d", "rate"};
  function.outputs = {"next"};
  function.nodes = {node("Mul", {"d", "rate"}, {"rd"}), node("Sub", {"w", "rd"}, {"next"})};
  function.opsets = {{"", 17}};
  return function;
}

class TrainingWriter {
 public:
  explicit TrainingWriter(Choices& choices) : choices_(&choices), network_(any_network(choices)) {}

  ModelDef write() {
    network_.model.opsets.push_back({training_domain, 1});
    network_.model.functions.push_back(descent_function());
    step_.name = "step";
    add_loss();
    choose_parameters();
    std::string loss = "loss";
    for (std::size_t order = choices_->once_in(4) ? 2 : 1; order > 0; --order) {
      add_gradient(loss);
      if (order > 1) loss = add_penalty();
    }
    step_.outputs.push_back(floats(loss, {}));
    add_rate();
    add_updates();
    info_.algorithm = std::move(step_);
    if (choices_->once_in(2)) add_initialization();
    network_.model.training = {std::move(info_)};
    if (choices_->once_in(4)) add_counting_algorithm();
    return std::move(network_.model);
  }

 private:
  void add(const std::string& op, std::vector<std::string> inputs, std::vector<std::string> outputs,
           Attributes attributes = {}, const std::string& domain = {}) {
    step_.nodes.push_back(
        node(op, std::move(inputs), std::move(outputs), std::move(attributes), domain));
  }

  void add_loss() {
    const NetworkValue& y = network_.output;
    const Attribute whole("keepdims", std::int64_t{0});
    if (y.dims.size() == 2 && choices_->once_in(3)) {
      step_.inputs = {tensor_value("t", DType::int64, {y.dims[0]})};
      return add("SoftmaxCrossEntropyLoss", {"y", "t"}, {"loss"});
    }
    if (choices_->once_in(4)) {
      add("Mul", {"y", "y"}, {"yy"});
    } else {
      step_.inputs = {floats("t", y.dims)};
      add("Sub", {"y", "t"}, {"error"});
      choices_->once_in(4) ? add("Abs", {"error"}, {"yy"}) : add("Mul", {"error", "error"}, {"yy"});
    }
    add(choices_->once_in(3) ? "ReduceSum" : "ReduceMean", {"yy"}, {"loss"}, {whole});
  }

  void choose_parameters() {
    for (const NetworkValue& w : network_.weights) {
      if (!choices_->once_in(4) || parameters_.empty()) parameters_.push_back(w);
    }
    with_input_ = choices_->once_in(5);
  }

  // Names of derivatives end with the number of Gradient nodes before them.
  std::string derivative(const std::string& of) const {
    return "d" + std::to_string(gradients_ - 1) + "_" + of;
  }

  void add_gradient(const std::string& y) {
    ++gradients_;
    std::vector<std::string> xs;
    std::vector<std::string> outputs;
    for (const NetworkValue& w : parameters_) {
      xs.push_back(w.name);
      outputs.push_back(derivative(w.name));
    }
    if (with_input_) {
      xs.emplace_back("x");
      outputs.push_back(derivative("x"));
      step_.outputs.push_back(floats(outputs.back(), network_.input.dims));
    }
    add("Gradient", xs, outputs, {{"xs", xs}, {"y", y}}, training_domain);
  }

  // loss + 0.1 sum of squared derivatives.
  std::string add_penalty() {
    const std::string d = derivative(parameters_.front().name);
    add("ReduceSumSquare", {d}, {"squares"}, {{"keepdims", std::int64_t{0}}});
    step_.initializers.push_back({"penalty", Tensor::scalar(0.1F), "", {}});
    add("Mul", {"squares", "penalty"}, {"weighted"});
    add("Add", {"loss", "weighted"}, {"whole_loss"});
    return "whole_loss";
  }

  void add_rate() {
    step_.initializers.push_back({"rate", Tensor::scalar(0.1F), "", {}});
    if (choices_->once_in(2)) step_.inputs.push_back(floats("rate", {}));
  }

  void update(const std::string& state, const std::string& next,
              const std::vector<std::int64_t>& dims, DType dtype = DType::float32) {
    step_.outputs.push_back(tensor_value(next, dtype, {dims.begin(), dims.end()}));
    info_.update_binding.emplace_back(state, next);
  }

  void add_updates() {
    const std::size_t rule = choices_->below(6);
    if (rule > 2) add_counter();
    for (const NetworkValue& w : parameters_) {
      const std::string d = derivative(w.name);
      const std::string next = w.name + "_next";
      switch (rule) {
        case 0:
          add("Mul", {d, "rate"}, {"move_" + w.name});
          add("Sub", {w.name, "move_" + w.name}, {next});
          break;
        case 1:
          add("Descend", {w.name, d, "rate"}, {next}, {}, "local");
          break;
        case 2:
          state("m_" + w.name, w);
          add("Add", {"m_" + w.name, d}, {"m_" + w.name + "_next"});
          add("Mul", {"m_" + w.name + "_next", "rate"}, {"move_" + w.name});
          add("Sub", {w.name, "move_" + w.name}, {next});
          update("m_" + w.name, "m_" + w.name + "_next", w.dims);
          break;
        case 3:
          add_optimizer("Momentum", w, 1,
                        {{"alpha", 0.9F},
                         {"beta", 1.0F},
                         {"mode", std::string(choices_->once_in(2) ? "nesterov" : "standard")},
                         {"norm_coefficient", choices_->once_in(2) ? 0.01F : 0.0F}});
          break;
        case 4:
          add_optimizer("Adagrad", w, 1, {{"decay_factor", choices_->once_in(2) ? 0.1F : 0.0F}});
          break;
        default:
          add_optimizer("Adam", w, 2, {{"norm_coefficient_post", 0.01F}});
      }
      update(w.name, next, w.dims);
    }
  }

  void state(const std::string& name, const NetworkValue& of) {
    step_.initializers.push_back({name, filled(of.dims, 0.125F), "", {}});
  }

  void add_optimizer(const std::string& op, const NetworkValue& w, int states, Attributes given) {
    std::vector<std::string> inputs{"rate", "count", w.name, derivative(w.name)};
    std::vector<std::string> outputs{w.name + "_next"};
    for (int i = 0; i < states; ++i) {
      const std::string name = "s" + std::to_string(i) + "_" + w.name;
      state(name, w);
      inputs.push_back(name);
      outputs.push_back(name + "_next");
      update(name, name + "_next", w.dims);
    }
    add(op, inputs, outputs, std::move(given), training_domain);
  }

  void add_counter() {
    step_.initializers.push_back({"count", Tensor::scalar(std::int64_t{1}), "", {}});
    step_.initializers.push_back({"one", Tensor::scalar(std::int64_t{1}), "", {}});
    add("Add", {"count", "one"}, {"count_next"});
    update("count", "count_next", {}, DType::int64);
  }

  void add_initialization() {
    GraphDef start;
    start.name = "start";
    for (const NetworkValue& w : parameters_) {
      const std::string first = w.name + "_first";
      switch (choices_->below(4)) {
        case 0:
          continue;
        case 1:
          start.nodes.push_back(node("RandomNormal", {}, {first}, {{"shape", w.dims}}));
          break;
        case 2:
          start.nodes.push_back(node("Constant", {}, {first}, {{"value", filled(w.dims, 0.5F)}}));
          break;
        default:
          start.initializers.push_back({first + "_half", filled(w.dims, 0.25F), "", {}});
          start.nodes.push_back(node("Tanh", {first + "_half"}, {first}));
      }
      start.outputs.push_back(floats(first, w.dims));
      info_.initialization_binding.emplace_back(w.name, first);
    }
    if (!start.outputs.empty()) info_.initialization = std::move(start);
  }

  void add_counting_algorithm() {
    TrainingInfoDef info;
    GraphDef graph;
    graph.name = "counting";
    graph.initializers = {{"calls", Tensor::scalar(std::int64_t{0}), "", {}},
                          {"unit", Tensor::scalar(std::int64_t{1}), "", {}}};
    graph.nodes = {node("Add", {"calls", "unit"}, {"calls_next"})};
    graph.outputs = {tensor_value("calls_next", DType::int64, {})};
    info.algorithm = std::move(graph);
    info.update_binding = {{"calls", "calls_next"}};
    network_.model.training.push_back(std::move(info));
  }

  Choices* choices_;
  Network network_;
  GraphDef step_;
  TrainingInfoDef info_;
  std::vector<NetworkValue> parameters_;
  bool with_input_ = false;
  int gradients_ = 0;
};

}  // namespace

ModelDef any_training_model(Choices& choices) { return TrainingWriter(choices).write(); }

}  // namespace ondine::test
