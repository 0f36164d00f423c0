#include "tests/fuzz/change_training.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/models.h"

namespace ondine::test {
namespace {

using namespace graph;  // NOLINT

using Names = std::vector<std::string>;

Names names_of(const GraphDef& graph) {
  Names names;
  for (const ValueDef& value : graph.inputs) names.push_back(value.name);
  for (const InitializerDef& value : graph.initializers) names.push_back(value.name);
  for (const NodeDef& one : graph.nodes) {
    for (const std::string& name : one.outputs) {
      if (!name.empty()) names.push_back(name);
    }
  }
  return names;
}

Names* list_of(NodeDef& gradient, const char* attribute) {
  for (Attribute& one : gradient.attributes) {
    if (one.name == attribute) return std::get_if<Names>(&one.data);
  }
  return nullptr;
}

class TrainingChanger {
 public:
  TrainingChanger(ModelDef& model, Choices& choices)
      : model_(&model),
        choices_(&choices),
        info_(&model.training[choices.below(model.training.size())]) {
    visible_ = names_of(model.graph);
    if (!info_->algorithm) return;
    const Names own = names_of(*info_->algorithm);
    visible_.insert(visible_.end(), own.begin(), own.end());
    for (NodeDef& one : info_->algorithm->nodes) {
      if (one.op == "Gradient") gradients_.push_back(&one);
    }
  }

  void change() {
    if (!info_->algorithm || visible_.empty()) return change_presence();
    switch (choices_->below(12)) {
      case 0:
        return add_node();
      case 1:
        return add_state();
      case 2:
        return add_derivative();
      case 3:
        return remove_derivative();
      case 4:
        return repeat_gradient();
      case 5:
        return change_target();
      case 6:
        return exchange_bindings();
      case 7:
        return move_node();
      case 8:
        return make_function();
      case 9:
        return make_branches();
      case 10:
        return make_input();
      default:
        return change_presence();
    }
  }

 private:
  GraphDef& step() { return *info_->algorithm; }
  // No name of the base models has this form.
  std::string fresh(const char* stem) {
    return std::string(stem) + "_" + std::to_string(visible_.size()) + "_" +
           std::to_string(choices_->below(256));
  }
  const std::string& visible() { return choices_->pick(visible_); }
  NodeDef* gradient() { return gradients_.empty() ? nullptr : choices_->pick(gradients_); }

  void add_output(const std::string& name) {
    ValueDef output = tensor_value(name, DType::float32, {});
    output.type.dims->resize(choices_->below(3));
    step().outputs.push_back(std::move(output));
  }

  void add_node() {
    static const Names ops{"Add", "Mul", "Sub", "Max", "Tanh", "Neg", "Identity", "Shape"};
    const std::string name = fresh("n");
    const std::string& op = choices_->pick(ops);
    Names inputs{visible()};
    if (op.size() == 3 && op != "Neg") inputs.push_back(visible());
    step().nodes.push_back(node(op, inputs, {name}));
    add_output(name);
    if (choices_->once_in(2)) info_->update_binding.emplace_back(visible(), name);
  }

  // s <- s + s, with an initializer of the algorithm or of the main graph.
  void add_state() {
    const std::string name = fresh("s");
    const bool number = choices_->once_in(2);
    const Tensor value = number ? Tensor::scalar(std::int64_t{1}) : Tensor::scalar(1.0F);
    (choices_->once_in(3) ? model_->graph : step()).initializers.push_back({name, value, "", {}});
    step().nodes.push_back(node("Add", {name, name}, {name + "_next"}));
    step().outputs.push_back(tensor_value(name + "_next", value.dtype(), {}));
    info_->update_binding.emplace_back(name, name + "_next");
  }

  void add_derivative() {
    NodeDef* of = gradient();
    Names* xs = of == nullptr ? nullptr : list_of(*of, "xs");
    if (xs == nullptr) return;
    const std::string x = visible();
    const std::string name = fresh("d");
    xs->push_back(x);
    // After those of xs that are there; what follows is zs.
    of->inputs.insert(of->inputs.begin() +
                          static_cast<std::ptrdiff_t>(std::min(xs->size() - 1, of->inputs.size())),
                      x);
    of->outputs.push_back(name);
    add_output(name);
  }

  void remove_derivative() {
    NodeDef* of = gradient();
    Names* xs = of == nullptr ? nullptr : list_of(*of, "xs");
    if (xs == nullptr || xs->empty() || of->outputs.size() != xs->size()) return;
    const auto at = static_cast<std::ptrdiff_t>(choices_->below(xs->size()));
    const std::string gone = of->outputs[static_cast<std::size_t>(at)];
    xs->erase(xs->begin() + at);
    of->outputs.erase(of->outputs.begin() + at);
    if (at < std::ssize(of->inputs)) of->inputs.erase(of->inputs.begin() + at);
    // Readers of the removed value read another one instead.
    for (NodeDef& one : step().nodes) std::ranges::replace(one.inputs, gone, visible());
  }

  void repeat_gradient() {
    const NodeDef* of = gradient();
    if (of == nullptr) return;
    NodeDef copy = *of;
    for (std::string& name : copy.outputs) {
      name = fresh(name.c_str());
      add_output(name);
    }
    if (choices_->once_in(2)) set_target(copy, visible());
    step().nodes.push_back(std::move(copy));
  }

  static void set_target(NodeDef& of, const std::string& y) {
    for (Attribute& one : of.attributes) {
      if (one.name == "y") one.data = y;
    }
  }

  void change_target() {
    if (NodeDef* of = gradient()) set_target(*of, visible());
  }

  void exchange_bindings() {
    auto& list = choices_->once_in(3) ? info_->initialization_binding : info_->update_binding;
    if (list.empty()) return;
    auto& one = list[choices_->below(list.size())];
    std::swap(one.second, list[choices_->below(list.size())].second);
  }

  // Between main graph and algorithm.
  void move_node() {
    const bool out = choices_->once_in(2);
    auto& from = out ? step().nodes : model_->graph.nodes;
    auto& to = out ? model_->graph.nodes : step().nodes;
    if (from.empty()) return;
    const std::size_t at = out ? choices_->below(from.size()) : from.size() - 1;
    to.insert(out ? to.end() : to.begin(), from[at]);
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(at));
  }

  // A node becomes the call of a function that holds it.
  void make_function() {
    NodeDef& inner = step().nodes[choices_->below(std::max<std::size_t>(step().nodes.size(), 1))];
    if (step().nodes.empty() || inner.op == "Gradient" || inner.domain == "local") return;
    FunctionDef function;
    function.name = fresh("F");
    function.domain = "local";
    NodeDef call = node(function.name, inner.inputs, inner.outputs, {}, "local");
    function.nodes = {inner};
    const auto rename = [](Names& names, const char* stem, Names& ports) {
      for (std::size_t i = 0; i < names.size(); ++i) {
        ports.push_back(stem + std::to_string(i));
        if (!names[i].empty()) names[i] = ports.back();
      }
    };
    rename(function.nodes[0].inputs, "in", function.inputs);
    rename(function.nodes[0].outputs, "out", function.outputs);
    function.opsets = model_->opsets;
    model_->functions.push_back(std::move(function));
    const auto local = [](const OpsetImport& one) { return one.domain == "local"; };
    if (std::ranges::none_of(model_->opsets, local)) model_->opsets.push_back({"local", 1});
    inner = std::move(call);
  }

  // A node becomes both branches of an If.
  void make_branches() {
    if (step().nodes.empty()) return;
    NodeDef& inner = step().nodes[choices_->below(step().nodes.size())];
    if (inner.op == "Gradient") return;
    const auto branch = [&](const char* name) {
      GraphDef body;
      body.name = name;
      body.nodes = {inner};
      for (std::string& output : body.nodes[0].outputs) {
        if (output.empty()) continue;
        output = name + output;
        ValueDef value = tensor_value(output, DType::float32, {});
        value.type.dims.reset();
        body.outputs.push_back(std::move(value));
      }
      return std::make_shared<const GraphDef>(std::move(body));
    };
    NodeDef choice = node("If", {fresh("if")}, inner.outputs,
                          {{"then_branch", branch("yes_")}, {"else_branch", branch("no_")}});
    std::erase(choice.outputs, "");
    step().initializers.push_back({choice.inputs[0], Tensor::scalar(true), "", {}});
    inner = std::move(choice);
  }

  // An initializer that may be fed.
  void make_input() {
    GraphDef& graph = choices_->once_in(2) ? model_->graph : step();
    if (graph.initializers.empty()) return;
    const InitializerDef& one = graph.initializers[choices_->below(graph.initializers.size())];
    const Shape& shape = one.value.shape();
    graph.inputs.push_back(tensor_value(one.name, one.value.dtype(), {shape.begin(), shape.end()}));
  }

  void change_presence() {
    switch (choices_->below(5)) {
      case 0:
        info_->algorithm.reset();
        return;
      case 1:
        info_->initialization.reset();
        return;
      case 2:
        info_->initialization_binding.clear();
        return;
      case 3:
        model_->training.push_back(TrainingInfoDef(*info_));
        return;
      default: {
        // The algorithm as one that continues another.
        TrainingInfoDef empty;
        empty.update_binding = info_->update_binding;
        model_->training.push_back(std::move(empty));
      }
    }
  }

  ModelDef* model_;
  Choices* choices_;
  TrainingInfoDef* info_;
  Names visible_;
  std::vector<NodeDef*> gradients_;
};

}  // namespace

void change_training(ModelDef& model, Choices& choices) {
  if (!model.training.empty()) TrainingChanger(model, choices).change();
}

}  // namespace ondine::test
