#include "tests/fuzz/any_node.h"

#include <map>

#include "graph/contract/signature.h"
#include "tests/fuzz/any_attribute.h"
#include "tests/fuzz/any_value.h"

namespace ondine::test {
namespace {

using namespace graph;  // NOLINT

constexpr std::string_view training_domain = "ai.onnx.preview.training";

std::shared_ptr<const TypeDef> tensor_type(DType dtype) {
  TypeDef type;
  type.kind = TypeKind::tensor;
  type.dtype = dtype;
  return std::make_shared<const TypeDef>(type);
}

TypeDef nested(TypeKind kind, std::shared_ptr<const TypeDef> element) {
  TypeDef type;
  type.kind = kind;
  type.element = std::move(element);
  return type;
}

std::vector<TypeDef> members(const TypeSet& set) {
  std::vector<TypeDef> result;
  for (int d = 1; d < dtype_count; ++d) {
    const auto bit = std::uint32_t{1} << static_cast<unsigned>(d);
    const auto element = tensor_type(static_cast<DType>(d));
    if ((set.tensors & bit) != 0) result.push_back(*element);
    const TypeDef sequence = nested(TypeKind::sequence, element);
    if ((set.sequences & bit) != 0) result.push_back(sequence);
    if ((set.optionals & bit) != 0) result.push_back(nested(TypeKind::optional, element));
    if ((set.optional_sequences & bit) != 0) {
      result.push_back(nested(TypeKind::optional, std::make_shared<const TypeDef>(sequence)));
    }
  }
  return result;
}

class Writer {
 public:
  Writer(Choices& choices, const Signature& signature)
      : choices_(&choices), signature_(&signature), usual_(any_shape(choices, Shape{2, 3})) {
    if (choices.once_in(3)) {
      usual_ = choices.pick(std::vector<Shape>{{1, 2, 4, 4}, {2, 3, 5}, {4}, {3, 3}, {0, 2}});
    }
  }

  ModelDef write() {
    model_.ir_version = 10;
    model_.opsets = {{std::string(signature_->domain()), signature_->since_version}};
    if (!signature_->domain().empty()) model_.opsets.push_back({"", 17});
    model_.graph.name = "main";
    NodeDef node;
    node.op = signature_->name;
    node.domain = signature_->domain();
    node.name = "it";
    for (const Parameter& parameter : signature_->inputs()) add_inputs(parameter, node);
    while (!node.inputs.empty() && node.inputs.back().empty()) node.inputs.pop_back();
    for (const Parameter& parameter : signature_->outputs()) add_outputs(parameter, node);
    while (node.outputs.size() > 1 && node.outputs.back().empty()) node.outputs.pop_back();
    add_attributes(node);
    model_.graph.nodes.push_back(std::move(node));
    for (NodeDef& reshape : after_) model_.graph.nodes.push_back(std::move(reshape));
    if (choices_->once_in(2)) add_algorithm();
    return std::move(model_);
  }

 private:
  // Parameters with one constraint have one type.
  TypeDef type_of(const Parameter& parameter) {
    const auto known = chosen_.find(parameter.constraint);
    if (known != chosen_.end()) return known->second;
    const auto all = members(signature_->constraints()[parameter.constraint].types());
    if (all.empty()) return *tensor_type(DType::float32);
    // Half of the time a float where there is one.
    const TypeDef& first = all.front();
    const TypeDef type =
        first.dtype == DType::float32 && choices_->once_in(2) ? first : choices_->pick(all);
    chosen_.emplace(parameter.constraint, type);
    return type;
  }

  std::size_t how_many(const Parameter& parameter) {
    if (parameter.option != Option::variadic) return 1;
    return std::max<std::size_t>(parameter.min_arity, 1 + choices_->below(3));
  }

  void add_inputs(const Parameter& parameter, NodeDef& node) {
    for (std::size_t n = how_many(parameter); n > 0; --n) {
      if (parameter.option == Option::optional && choices_->once_in(2)) {
        node.inputs.emplace_back();
        continue;
      }
      const std::string name = "x" + std::to_string(node.inputs.size());
      node.inputs.push_back(name);
      ValueDef input;
      input.name = name;
      input.type = type_of(parameter);
      if (input.type.kind == TypeKind::tensor && choices_->once_in(2)) {
        const Shape shape = any_shape(*choices_, usual_);
        model_.graph.initializers.push_back(
            {name, any_tensor(*choices_, input.type.dtype, shape), "", {}});
        continue;
      }
      if (input.type.kind == TypeKind::tensor && choices_->once_in(2)) {
        const Shape shape = any_shape(*choices_, usual_);
        input.type.dims.emplace(shape.begin(), shape.end());
        if (!input.type.dims->empty() && choices_->once_in(2)) input.type.dims->front() = "N";
      }
      if (input.type.kind == TypeKind::tensor && !input.type.dims) {
        input.type.dims.emplace(any_shape(*choices_, usual_).rank());
      }
      model_.graph.inputs.push_back(input);
    }
  }

  void add_outputs(const Parameter& parameter, NodeDef& node) {
    for (std::size_t n = how_many(parameter); n > 0; --n) {
      if (parameter.option == Option::optional && choices_->once_in(3)) {
        node.outputs.emplace_back();
        continue;
      }
      ValueDef output;
      output.name = "y" + std::to_string(node.outputs.size());
      output.type = type_of(parameter);
      node.outputs.push_back(output.name);
      if (choices_->once_in(4)) continue;  // computed, but nobody reads it
      if (choices_->once_in(12)) {
        node.outputs.back().clear();
        continue;
      }
      if (output.type.kind == TypeKind::tensor) flatten(output);
      model_.graph.outputs.push_back(output);
    }
  }

  // A graph output has a rank, which only the operator knows: [-1] is right for all.
  void flatten(ValueDef& output) {
    const bool old = signature_->domain().empty() && signature_->since_version < 5;
    if (old) {
      output.type.dims.emplace(usual_.rank());
      return;
    }
    output.type.dims.emplace(1);
    NodeDef reshape;
    reshape.op = "Reshape";
    reshape.inputs = {output.name, "flat"};
    output.name += "_flat";
    reshape.outputs = {output.name};
    after_.push_back(std::move(reshape));
    if (after_.size() == 1) {
      model_.graph.initializers.push_back(
          {"flat", Tensor::of<std::int64_t>({1}, std::vector<std::int64_t>{-1}), "", {}});
    }
  }

  void add_attributes(NodeDef& node) {
    for (const AttributeSpec& spec : signature_->attributes()) {
      if (!spec.required && choices_->once_in(2)) continue;
      if (spec.kind == AttributeKind::graph) {
        node.attributes.emplace_back(std::string(spec.name), body(node, spec.name));
        continue;
      }
      Attribute attribute = any_attribute(*choices_, spec, usual_);
      if (attribute.data.index() != 0) node.attributes.push_back(std::move(attribute));
    }
  }

  // Hands its inputs on.
  std::shared_ptr<const GraphDef> body(const NodeDef& node, std::string_view attribute) {
    GraphDef graph;
    graph.name = attribute;
    const std::string prefix = std::string(attribute) + "_";
    const std::size_t inputs = node.op == "If" ? 0 : node.inputs.size() - choices_->below(2);
    for (std::size_t i = 0; i < inputs && i < 8; ++i) {
      ValueDef input;
      input.name = prefix + "i" + std::to_string(i);
      input.type = *tensor_type(i == 0 && node.op == "Loop"   ? DType::int64
                                : i == 1 && node.op == "Loop" ? DType::boolean
                                                              : DType::float32);
      graph.inputs.push_back(input);
    }
    const std::size_t outputs = node.outputs.size() + (node.op == "Loop" ? 1 : 0);
    for (std::size_t i = 0; i < outputs; ++i) {
      const std::size_t from = i + (node.op == "Loop" ? 1 : 0);
      NodeDef copy;
      copy.op = choices_->once_in(4) ? "Neg" : "Identity";
      copy.inputs = {from < graph.inputs.size() ? graph.inputs[from].name
                     : !node.inputs.empty()     ? node.inputs[choices_->below(node.inputs.size())]
                                                : std::string("x0")};
      copy.outputs = {prefix + "o" + std::to_string(i)};
      graph.nodes.push_back(copy);
      ValueDef output;
      output.name = copy.outputs[0];
      output.type =
          from < graph.inputs.size() ? graph.inputs[from].type : *tensor_type(DType::float32);
      if (from >= graph.inputs.size() && choices_->once_in(2)) output.type.dims.emplace(1);
      graph.outputs.push_back(output);
    }
    return std::make_shared<const GraphDef>(std::move(graph));
  }

  // loss = sum of the first output, its derivatives are the algorithm's outputs.
  void add_algorithm() {
    if (model_.graph.outputs.empty()) return;
    const TypeDef& type = model_.graph.outputs[0].type;
    if (type.kind != TypeKind::tensor || !is_differentiable(type.dtype)) return;
    if (signature_->domain().empty() && signature_->since_version < 13) return;
    GraphDef step;
    step.name = "step";
    NodeDef sum;
    sum.op = "ReduceSum";
    sum.inputs = {model_.graph.outputs[0].name};
    sum.outputs = {"loss"};
    sum.attributes = {{"keepdims", std::int64_t{0}}};
    NodeDef gradient;
    gradient.op = "Gradient";
    gradient.domain = training_domain;
    TrainingInfoDef info;
    std::vector<std::string> xs;
    const auto differentiate = [&](const std::string& name, DType dtype, std::size_t rank,
                                   bool update) {
      if (!is_differentiable(dtype) || xs.size() == 8) return;
      xs.push_back(name);
      gradient.outputs.push_back("d_" + name);
      ValueDef output;
      output.name = "d_" + name;
      output.type = *tensor_type(dtype);
      output.type.dims.emplace(rank);
      step.outputs.push_back(output);
      if (update) info.update_binding.emplace_back(name, output.name);
    };
    for (const auto& init : model_.graph.initializers) {
      differentiate(init.name, init.value.dtype(), init.value.shape().rank(), true);
    }
    for (const auto& input : model_.graph.inputs) {
      if (input.type.kind != TypeKind::tensor) continue;
      differentiate(input.name, input.type.dtype, input.type.dims->size(), false);
    }
    if (xs.empty()) return;
    gradient.inputs = xs;
    gradient.attributes = {{"xs", xs}, {"y", std::string("loss")}};
    step.nodes = {sum, gradient};
    info.algorithm = std::move(step);
    if (signature_->domain() != training_domain) {
      model_.opsets.push_back({std::string(training_domain), 1});
    }
    model_.training = {std::move(info)};
  }

  Choices* choices_;
  const Signature* signature_;
  Shape usual_;
  ModelDef model_;
  std::map<std::uint8_t, TypeDef> chosen_;
  std::vector<NodeDef> after_;
};

}  // namespace

ModelDef any_node_model(Choices& choices, std::size_t index) {
  return Writer(choices, all_signatures()[index]).write();
}

ModelDef any_node_model(Choices& choices) {
  return any_node_model(choices, choices.below(all_signatures().size()));
}

}  // namespace ondine::test
