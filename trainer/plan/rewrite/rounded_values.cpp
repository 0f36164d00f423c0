#include "trainer/plan/rewrite/rounded_values.h"

#include "core/message.h"
#include "trainer/model/conversion_node.h"

namespace ondine::trainer {

using namespace graph;  // NOLINT

void RoundedValues::add_view(Node view) {
  const ValueId id = view.outputs[0];
  forms_[id].view = std::move(view);
}

ValueId RoundedValues::copy_of(ValueId id, std::string_view suffix, DType dtype) {
  Type type = graph_[id].type;
  type.dtype = dtype;
  return graph_.add_temporary(cat(graph_[id].name, suffix), std::move(type));
}

ValueId RoundedValues::push_view(const Node& view, ValueId of, std::string_view suffix) {
  Node copy = view;
  copy.inputs[0] = of;
  copy.outputs[0] = copy_of(view.outputs[0], suffix, graph_[of].type.dtype);
  nodes_.push_back(std::move(copy));
  return nodes_.back().outputs[0];
}

ValueId RoundedValues::rounded(ValueId id) {
  Forms& forms = forms_.at(id);
  if (forms.rounded == no_value) {
    forms.rounded = push_view(*forms.view, rounded(forms.view->inputs[0]), "_rounded");
  }
  return forms.rounded;
}

ValueId RoundedValues::wide(ValueId id) {
  Forms& forms = forms_.at(id);
  if (forms.wide != no_value) return forms.wide;
  if (forms.view) {
    forms.wide = push_view(*forms.view, wide(forms.view->inputs[0]), "_widened");
  } else {
    forms.wide = copy_of(id, "_widened", DType::float32);
    nodes_.push_back(*conversion_node(forms.rounded, forms.wide, DType::float32));
  }
  return forms.wide;
}

void RoundedValues::rewrite(Node& node) {
  if (forms_.empty()) return;
  const std::uint32_t read = rounded_inputs(node, graph_, options_).read;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    ValueId& id = node.inputs[i];
    if (contains(id)) id = i < 32 && (read >> i & 1U) != 0 ? rounded(id) : wide(id);
  }
  for (Subgraph& subgraph : node.subgraphs) {
    for (ValueId& id : subgraph.captures) {
      if (contains(id)) id = wide(id);
    }
  }
}

}  // namespace ondine::trainer
