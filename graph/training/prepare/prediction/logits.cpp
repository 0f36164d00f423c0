#include "graph/training/prepare/prediction/logits.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/message.h"
#include "graph/contract/opsets.h"
#include "graph/training/prepare/inline_call.h"
#include "graph/training/prepare/losses/table.h"
#include "graph/training/prepare/parameters/parameters.h"
#include "graph/training/prepare/prediction/activation_forms.h"

namespace ondine::graph {
namespace {

bool normalizes_sums(const NodeDef& node) {
  if (node.domain != "ai.onnx.ml" || node.op != "Normalizer") return false;
  const Attribute* norm = ondine::graph::find(node.attributes, "norm");
  const auto* name = norm == nullptr ? nullptr : std::get_if<std::string>(&norm->data);
  return name != nullptr && *name == "L1";
}

bool is_quantized(const NodeDef& node, std::string_view op) {
  return node.op == op && (node.domain.empty() || node.domain == "com.microsoft");
}

class LogitsFinder {
 public:
  LogitsFinder(ModelDef& model, Names& names, std::int64_t opset, Loss loss)
      : LogitsFinder(model.graph, nullptr, model, names, opset, traits_of(loss).reads_softmax()) {}

  std::optional<Logits> find(std::string value) {
    std::vector<NodeDef> moves;  // the last first
    while (true) {
      NodeDef* node = producer(value);
      std::optional<Logits> found;
      if (node == nullptr) {
        found = outside(value);
      } else if (keeps_elements(*node)) {
        moves.push_back(*node);
        value = node->inputs[0];
        continue;
      } else if (const std::string* same = passed_on(*node, value)) {
        value = *same;
        continue;
      } else if (inlines(*node)) {
        continue;
      } else if (is_standard(*node, "If") || runs_body(*node)) {
        found = through_bodies(*node, value);
      } else {
        found = is_softmax_ ? before_softmax(local_, *node, opset_) : before_sigmoid(local_, *node);
      }
      if (found) found->moves.insert(found->moves.end(), moves.rbegin(), moves.rend());
      return found;
    }
  }

 private:
  LogitsFinder(GraphDef& graph, LogitsFinder* outer, ModelDef& model, Names& names,
               std::int64_t opset, bool is_softmax)
      : graph_(&graph),
        local_(graph, outer == nullptr ? nullptr : &outer->local_),
        outer_(outer),
        model_(&model),
        names_(&names),
        opset_(opset),
        is_softmax_(is_softmax) {}

  NodeDef* producer(const std::string& value) {
    const std::size_t found = local_.index_of(value);
    return found == graph_->nodes.size() ? nullptr : &graph_->nodes[found];
  }

  // The value that a node passes on unchanged, but for rounding; nullptr if it computes.
  const std::string* passed_on(const NodeDef& node, const std::string& value) {
    // Probabilities of a Softmax sum to 1 already.
    if (is_softmax_ && normalizes_sums(node)) return &node.inputs.at(0);
    if (is_quantized(node, "DequantizeLinear")) {
      const NodeDef* quantize = producer(node.inputs.at(0));
      const bool rounds = quantize != nullptr && is_quantized(*quantize, "QuantizeLinear");
      return rounds ? &quantize->inputs.at(0) : nullptr;
    }
    if (!runs_body(node)) return nullptr;
    const auto bodies = subgraphs_of(node);
    const std::size_t place = place_of(node, value);
    return bodies.size() == 1 ? start_of_kept(node, *bodies[0], place) : nullptr;
  }

  static std::size_t place_of(const NodeDef& node, const std::string& output) {
    const auto found = std::find(node.outputs.begin(), node.outputs.end(), output);
    return static_cast<std::size_t>(found - node.outputs.begin());
  }

  // Initial value of state `state` of a loop if no iteration changes it; else nullptr.
  static const std::string* start_of_kept(const NodeDef& node, const GraphDef& body,
                                          std::size_t state) {
    const BodyPlaces places = body_places(node, body);
    const std::size_t input = state + places.first_state;
    const std::size_t output = state + places.output_shift;
    if (state >= places.states || input + places.input_shift >= node.inputs.size() ||
        output >= body.outputs.size()) {
      return nullptr;
    }
    const Producers producers = producers_of(body);
    std::string value = body.outputs[output].name;
    for (const NodeDef* one = graph::standard_producer(producers, value);
         one != nullptr && one->op == "Identity";
         one = graph::standard_producer(producers, value)) {
      value = one->inputs.at(0);
    }
    return value == body.inputs[input].name ? &node.inputs[input + places.input_shift] : nullptr;
  }

  // Puts the nodes of a function in the place of a call.
  bool inlines(const NodeDef& node) {
    const FunctionDef* function = called_function(model_->functions, node);
    if (function == nullptr || !has_opsets_of(*function, *model_)) return false;
    inline_call(graph_->nodes, static_cast<std::size_t>(&node - graph_->nodes.data()), *function,
                *names_);
    local_.index();
    return true;
  }

  std::optional<Logits> find_once(const std::string& value) {
    const auto known = known_.find(value);
    if (known != known_.end()) return known->second;
    return known_[value] = find(value);
  }

  // Logits of a value that a subgraph takes from the graph around it.
  std::optional<Logits> outside(const std::string& value) {
    if (outer_ == nullptr) return std::nullopt;
    const auto own = std::find_if(graph_->inputs.begin(), graph_->inputs.end(),
                                  [&](const ValueDef& one) { return one.name == value; });
    if (own == graph_->inputs.end()) return outer_->find_once(value);
    const auto place = static_cast<std::size_t>(own - graph_->inputs.begin());
    const BodyPlaces places = body_places(*holder_, *graph_);
    if (place < places.first_state) return std::nullopt;
    const std::string* start = start_of_kept(*holder_, *graph_, place - places.first_state);
    return start == nullptr ? std::nullopt : outer_->find_once(*start);
  }

  // Makes the logits of an output another output of the node, as of all its subgraphs. The node is
  // a copy: finding in the outer graph may move its nodes.
  std::optional<Logits> through_bodies(const NodeDef node, const std::string& value) {
    const std::size_t place = place_of(node, value);
    Logits found;
    NodeDef changed = node;
    std::size_t width = node.outputs.size();
    for (Attribute& attribute : changed.attributes) {
      auto* body = std::get_if<std::shared_ptr<const GraphDef>>(&attribute.data);
      if (body == nullptr) continue;
      auto inner = std::make_shared<GraphDef>(**body);
      const BodyPlaces places = runs_body(node) ? body_places(node, *inner) : BodyPlaces();
      if (place < places.states || place + places.output_shift >= inner->outputs.size()) {
        return std::nullopt;
      }
      width = std::max(width, inner->outputs.size() - places.output_shift);
      LogitsFinder finder(*inner, this, *model_, *names_, opset_, is_softmax_);
      finder.holder_ = &node;
      auto logits = finder.add_output(place + places.output_shift);
      if (!logits) return std::nullopt;
      if (runs_body(node)) stack(*logits, changed, place - places.states);
      if (found.made_by.empty()) {
        found = std::move(*logits);
      } else if (!found.axis) {
        // A branch that reshapes them does not tell.
        found.axis = logits->axis;
        found.flattens = logits->flattens;
      } else if (logits->axis &&
                 (found.axis != logits->axis || found.flattens != logits->flattens)) {
        return std::nullopt;
      }
      *body = std::move(inner);
    }
    if (found.made_by.empty()) return std::nullopt;
    found.value = names_->fresh("logits");
    changed.outputs.resize(width);
    changed.outputs.push_back(found.value);
    *producer(value) = std::move(changed);
    local_.index();
    return found;
  }

  // Loop and Scan put what the iterations give along a new axis, as they do with output `scanned`.
  static void stack(Logits& logits, NodeDef& node, std::size_t scanned) {
    std::int64_t at = 0;
    for (const char* name : {"scan_output_axes", "scan_output_directions"}) {
      const auto given = std::find_if(node.attributes.begin(), node.attributes.end(),
                                      [&](const Attribute& one) { return one.name == name; });
      if (given == node.attributes.end()) continue;
      auto* list = std::get_if<std::vector<std::int64_t>>(&given->data);
      if (list == nullptr || scanned >= list->size()) continue;
      list->push_back((*list)[scanned]);
      if (given->name == "scan_output_axes") at = list->back();
    }
    if (!logits.axis || (at == 0 && *logits.axis < 0)) return;
    if (at < 0 || *logits.axis < 0) {
      logits.axis.reset();
    } else if (*logits.axis >= at) {
      ++*logits.axis;
    }
  }

  // Makes the logits of an output of a subgraph another output.
  std::optional<Logits> add_output(std::size_t index) {
    std::optional<Logits> found = find(graph_->outputs[index].name);
    if (!found) return std::nullopt;
    std::string value = found->value;
    for (NodeDef move : std::exchange(found->moves, {})) {
      if (!one_of(move.op, {"Identity", "Cast"})) found->axis.reset();
      move.inputs[0] = value;
      value = names_->fresh("logits");
      move.name.clear();
      move.outputs = {value};
      graph_->nodes.push_back(std::move(move));
    }
    local_.index();
    if (producer(value) == nullptr || value == graph_->outputs[index].name) {
      NodeDef copy;
      copy.op = "Identity";
      copy.inputs = {value};
      copy.outputs = {names_->fresh("logits")};
      value = copy.outputs[0];
      graph_->nodes.push_back(std::move(copy));
    }
    ValueDef output = graph_->outputs[index];
    output.name = value;
    graph_->outputs.push_back(std::move(output));
    return found;
  }

  GraphDef* graph_;
  LocalGraph local_;
  LogitsFinder* outer_;              // of the graph around a subgraph
  const NodeDef* holder_ = nullptr;  // of a subgraph
  ModelDef* model_;
  Names* names_;
  std::int64_t opset_;
  bool is_softmax_;
  std::map<std::string, std::optional<Logits>> known_;  // what subgraphs asked for
};

}  // namespace

bool keeps_elements(const NodeDef& node) noexcept {
  if (!node.domain.empty() || node.inputs.empty()) return false;
  if (node.op == "Cast") {
    return is_differentiable(static_cast<DType>(integer_attribute(node, "to", 0)));
  }
  return one_of(node.op, {"Identity", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Transpose"});
}

std::string named_operator(const NodeDef& node) {
  if (node.name.empty() && node.outputs.empty()) return node.op;
  return node.op + " " + quoted(node.name.empty() ? node.outputs[0] : node.name);
}

std::optional<Logits> find_logits(ModelDef& model, Names& names, const std::string& value,
                                  Loss loss) {
  std::vector<NodeDef>& nodes = model.graph.nodes;
  const bool may_change =
      !model.functions.empty() || std::any_of(nodes.begin(), nodes.end(), [](const NodeDef& node) {
        return !subgraphs_of(node).empty();
      });
  std::vector<NodeDef> before;
  if (may_change) before = nodes;
  const std::int64_t opset = Opsets(model.opsets).version("").value_or(0);
  std::optional<Logits> found = LogitsFinder(model, names, opset, loss).find(value);
  if (!found && may_change) nodes = std::move(before);
  return found;
}

}  // namespace ondine::graph
