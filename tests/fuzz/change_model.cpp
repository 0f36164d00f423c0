#include "tests/fuzz/change_model.h"

#include "tests/fuzz/any_attribute.h"
#include "tests/fuzz/any_node.h"
#include "tests/fuzz/any_value.h"
#include "tests/fuzz/base_models.h"

namespace ondine::test {
namespace {

using namespace graph;  // NOLINT

template <class T>
T* any_of(Choices& choices, std::vector<T>& from) {
  return from.empty() ? nullptr : &from[choices.below(from.size())];
}

// Removes, repeats or exchanges elements.
template <class T>
void shuffle(Choices& choices, std::vector<T>& list) {
  if (list.empty()) return;
  const std::size_t i = choices.below(list.size());
  const std::size_t j = choices.below(list.size());
  switch (choices.below(3)) {
    case 0:
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    case 1: {
      T copy = list[i];
      list.insert(list.begin() + static_cast<std::ptrdiff_t>(j), std::move(copy));
      return;
    }
    default:
      std::swap(list[i], list[j]);
  }
}

class Changer {
 public:
  Changer(ModelDef& model, Choices& choices) : model_(&model), choices_(&choices) {
    for (const GraphDef* graph : graphs()) collect_names(*graph);
    names_.insert(names_.end(), {"", "nothing", "x"});
  }

  void change() {
    switch (choices_->below(8)) {
      case 0:
        return change_model_fields();
      case 1:
        return change_training();
      case 2:
        return change_functions();
      default: {
        auto all = graphs();
        return change_graph(*all[choices_->below(all.size())]);
      }
    }
  }

 private:
  std::vector<GraphDef*> graphs() {
    std::vector<GraphDef*> all{&model_->graph};
    for (TrainingInfoDef& info : model_->training) {
      if (info.algorithm) all.push_back(&*info.algorithm);
      if (info.initialization) all.push_back(&*info.initialization);
    }
    return all;
  }

  void collect_names(const GraphDef& graph) {
    for (const auto& value : graph.inputs) names_.push_back(value.name);
    for (const auto& init : graph.initializers) names_.push_back(init.name);
    for (const NodeDef& node : graph.nodes) {
      names_.insert(names_.end(), node.outputs.begin(), node.outputs.end());
    }
  }

  void rename(std::string& name) { name = choices_->pick(names_); }

  void change_type(TypeDef& type) {
    switch (choices_->below(5)) {
      case 0:
        type.dtype = static_cast<DType>(choices_->below(dtype_count));
        return;
      case 1:
        type.dims.reset();
        return;
      case 2:
        type.element = std::make_shared<const TypeDef>(type);
        type.kind = choices_->once_in(2) ? TypeKind::sequence : TypeKind::optional;
        return;
      case 3:
        type.kind = static_cast<TypeKind>(choices_->below(6));
        return;
      default:
        if (!type.dims) type.dims.emplace();
        if (type.dims->empty() || choices_->once_in(3)) type.dims->emplace_back();
        DimDef& dim = (*type.dims)[choices_->below(type.dims->size())];
        if (choices_->once_in(3)) {
          dim = "N";
        } else {
          dim = any_integer(*choices_);
        }
    }
  }

  void change_value(ValueDef& value) {
    if (choices_->once_in(4)) {
      rename(value.name);
    } else {
      change_type(value.type);
    }
  }

  void change_initializer(InitializerDef& init) {
    const DType dtype = init.value.dtype();
    const Shape shape = init.value.shape();
    switch (choices_->below(4)) {
      case 0:
        return rename(init.name);
      case 1:
        init.value = any_tensor(*choices_, dtype, shape);
        return;
      case 2:
        init.value = any_tensor(*choices_, dtype, any_shape(*choices_, Shape{2}));
        return;
      default:
        init.value = any_tensor(*choices_, static_cast<DType>(1 + choices_->below(26)), shape);
    }
  }

  void change_attribute(NodeDef& node) {
    Attribute* attribute = any_of(*choices_, node.attributes);
    if (attribute == nullptr) {
      const auto kind = static_cast<AttributeKind>(1 + choices_->below(14));
      Attribute::Data data = any_data(*choices_, kind, "axis", Shape{2});
      if (data.index() != 0) node.attributes.emplace_back("axis", std::move(data));
      return;
    }
    if (auto* body = std::get_if<std::shared_ptr<const GraphDef>>(&attribute->data)) {
      GraphDef copy = **body;
      collect_names(copy);
      change_graph(copy);
      *body = std::make_shared<const GraphDef>(std::move(copy));
      return;
    }
    switch (choices_->below(5)) {
      case 0:
        rename(attribute->name);
        return;
      case 1:
        rename(attribute->ref.edit());
        return;
      case 2: {
        const auto kind = static_cast<AttributeKind>(1 + choices_->below(14));
        *attribute = Attribute(attribute->name, any_data(*choices_, kind, "", Shape{2}));
        return;
      }
      default: {
        Attribute::Data data = any_data(*choices_, attribute->kind, attribute->name, Shape{2});
        if (auto* names = std::get_if<std::vector<std::string>>(&data)) {
          for (std::string& name : *names) rename(name);
        }
        if (auto* name = std::get_if<std::string>(&data)) rename(*name);
        *attribute = Attribute(attribute->name, std::move(data));
      }
    }
  }

  void change_node(NodeDef& node) {
    switch (choices_->below(8)) {
      case 0:
        node.op = all_signatures()[choices_->below(all_signatures().size())].name;
        return;
      case 1:
        if (std::string* name = any_of(*choices_, node.inputs)) rename(*name);
        return;
      case 2:
        if (std::string* name = any_of(*choices_, node.outputs)) rename(*name);
        return;
      case 3:
        return shuffle(*choices_, node.inputs);
      case 4:
        return shuffle(*choices_, node.outputs);
      case 5:
        return shuffle(*choices_, node.attributes);
      case 6:
        node.domain = choices_->pick(std::vector<std::string>{
            "", "ai.onnx", "ai.onnx.ml", "ai.onnx.preview.training", "local", "ai.ondine", "no"});
        return;
      default:
        return change_attribute(node);
    }
  }

  void change_graph(GraphDef& graph) {
    switch (choices_->below(12)) {
      case 0:
        return shuffle(*choices_, graph.nodes);
      case 1:
        return shuffle(*choices_, graph.initializers);
      case 2:
        return shuffle(*choices_, graph.inputs);
      case 3:
        return shuffle(*choices_, graph.outputs);
      case 4:
        if (auto* value = any_of(*choices_, graph.inputs)) change_value(*value);
        return;
      case 5:
        if (auto* value = any_of(*choices_, graph.outputs)) change_value(*value);
        return;
      case 6:
      case 7:
        if (auto* init = any_of(*choices_, graph.initializers)) change_initializer(*init);
        return;
      case 8:
        graph.value_infos.push_back(graph.outputs.empty()
                                        ? ValueDef{}
                                        : graph.outputs[choices_->below(graph.outputs.size())]);
        return change_value(graph.value_infos.back());
      default:
        if (auto* node = any_of(*choices_, graph.nodes)) change_node(*node);
    }
  }

  void change_training() {
    TrainingInfoDef* info = any_of(*choices_, model_->training);
    if (info == nullptr) return;
    auto& bindings = choices_->once_in(2) ? info->initialization_binding : info->update_binding;
    switch (choices_->below(6)) {
      case 0:
        return shuffle(*choices_, bindings);
      case 1:
        if (auto* pair = any_of(*choices_, bindings)) rename(pair->first);
        return;
      case 2:
        if (auto* pair = any_of(*choices_, bindings)) rename(pair->second);
        return;
      case 3:
        return shuffle(*choices_, model_->training);
      case 4:
        info->initialization = model_->graph;
        return;
      default:
        bindings.emplace_back(choices_->pick(names_), choices_->pick(names_));
    }
  }

  void change_functions() {
    FunctionDef* function = any_of(*choices_, model_->functions);
    if (function == nullptr) return;
    for (const NodeDef& node : function->nodes) {
      names_.insert(names_.end(), node.outputs.begin(), node.outputs.end());
    }
    switch (choices_->below(7)) {
      case 0:
        return shuffle(*choices_, model_->functions);
      case 1:
        return shuffle(*choices_, function->nodes);
      case 2:
        return shuffle(*choices_, function->inputs);
      case 3:
        return shuffle(*choices_, function->outputs);
      case 4:
        return shuffle(*choices_, function->opsets);
      case 5:
        if (auto* node = any_of(*choices_, function->nodes)) {
          node->op = function->name;
          node->domain = function->domain;
        }
        return;
      default:
        if (auto* node = any_of(*choices_, function->nodes)) change_node(*node);
    }
  }

  void change_model_fields() {
    switch (choices_->below(4)) {
      case 0:
        model_->ir_version = any_integer(*choices_);
        return;
      case 1:
        return shuffle(*choices_, model_->opsets);
      case 2:
        if (auto* opset = any_of(*choices_, model_->opsets)) {
          opset->version = 1 + static_cast<std::int64_t>(choices_->below(28));
        }
        return;
      default:
        if (auto* opset = any_of(*choices_, model_->opsets))
          opset->version = any_integer(*choices_);
    }
  }

  ModelDef* model_;
  Choices* choices_;
  std::vector<std::string> names_;
};

}  // namespace

void change_model(ModelDef& model, Choices& choices) { Changer(model, choices).change(); }

ModelDef any_model(Choices& choices) {
  if (choices.once_in(2)) return any_node_model(choices);
  ModelDef model = choices.pick(base_models());
  const std::size_t changes = 1 + choices.below(3);
  for (std::size_t i = 0; i < changes; ++i) change_model(model, choices);
  return model;
}

}  // namespace ondine::test
