#include "graph/training/prepare/prediction/prediction.h"

#include <algorithm>
#include <utility>

#include "core/message.h"
#include "graph/training/adapters/merge.h"
#include "graph/training/prepare/losses/table.h"
#include "graph/training/prepare/parameters/parameters.h"
#include "graph/training/prepare/prediction/batch_axis.h"
#include "graph/training/prepare/prediction/class_axis.h"
#include "graph/training/prepare/prediction/logits.h"

namespace ondine::graph {
namespace {

const char* offered_loss(Loss loss) {
  return traits_of(loss).reads_softmax() ? "nll" : "bce-probabilities";
}

[[noreturn]] void refuse_probabilities(const std::string& output, const std::string& source,
                                       Loss loss) {
  fail(ErrorCode::mismatch, quoted(output), " holds probabilities, made by ", source, ", and ",
       traits_of(loss).in_messages,
       " reads logits, which the model does not have; use a loss on probabilities (",
       offered_loss(loss), "), or name a value that holds logits as the loss output");
}

struct Asked {
  std::string value;
  TypeDef type;
  std::string what;  // "output 'p'", "the first output 'p'", "value 'h'"
};

// The input of a ZipMap, looking through Identity.
std::optional<std::string> zipped(const Producers& producers, std::string_view output) {
  auto made = producers.find(output);
  while (made != producers.end() && !made->second->inputs.empty()) {
    const NodeDef& node = *made->second;
    if (node.op == "ZipMap" && node.domain == "ai.onnx.ml") return node.inputs[0];
    if (!is_standard(node, "Identity")) break;
    made = producers.find(node.inputs[0]);
  }
  return std::nullopt;
}

bool is_readable(const TypeDef& type) {
  return type.kind == TypeKind::tensor && is_differentiable(type.dtype);
}

// The declared type, with what inference finds in place of the sizes that it contradicts: exporters
// may write the batch of their example.
TypeDef believed_type(const ValueDef& output, const ValueTypes& types) {
  TypeDef type = output.type;
  const auto found = types.find(output.name);
  if (found == types.end() || !found->second.dims) return type;
  const std::vector<DimDef>& inferred = *found->second.dims;
  if (!type.dims || type.dims->size() != inferred.size()) type.dims = inferred;
  for (std::size_t axis = 0; axis < inferred.size(); ++axis) {
    const bool is_size = std::holds_alternative<std::int64_t>((*type.dims)[axis]);
    const bool is_unknown = std::holds_alternative<std::monostate>(inferred[axis]);
    if (is_size && !is_unknown) (*type.dims)[axis] = inferred[axis];
  }
  return type;
}

// An output, or the probabilities of its ZipMap.
Asked asked_output(const Producers& producers, const ValueDef& output, const ValueTypes& types) {
  Asked asked{output.name, believed_type(output, types), "output " + quoted(output.name)};
  if (is_readable(output.type)) return asked;
  const auto probabilities = zipped(producers, output.name);
  if (!probabilities) return asked;
  asked.value = *probabilities;
  asked.what = "value " + quoted(*probabilities) + " that ZipMap makes output " +
               quoted(output.name) + " of";
  const auto found = types.find(*probabilities);
  if (found != types.end()) {
    asked.type = found->second;
  } else {
    asked.type = tensor_type(DType::float32, std::nullopt);
  }
  return asked;
}

Asked first_output(const GraphDef& main, const ValueTypes& types) {
  const Producers producers = producers_of(main);
  for (const ValueDef& output : main.outputs) {
    Asked asked = asked_output(producers, output, types);
    if (!is_readable(asked.type)) continue;
    if (main.outputs.size() > 1) asked.what = "the first floating point " + asked.what;
    return asked;
  }
  return asked_output(producers, main.outputs.front(), types);
}

Asked find_asked(const GraphDef& main, const ValueTypes& types, const std::string& name) {
  if (main.outputs.empty()) fail(ErrorCode::mismatch, "the model has no output");
  if (name.empty()) return first_output(main, types);
  for (const ValueDef& output : main.outputs) {
    if (output.name == name) return asked_output(producers_of(main), output, types);
  }
  const bool is_made = std::any_of(main.nodes.begin(), main.nodes.end(), [&](const NodeDef& node) {
    return std::find(node.outputs.begin(), node.outputs.end(), name) != node.outputs.end();
  });
  if (!is_made) {
    fail(ErrorCode::mismatch, "the model has no output ", quoted(name),
         ", nor a value of this name in its main graph");
  }
  const auto found = types.find(name);
  if (found == types.end()) {
    fail(ErrorCode::mismatch, "the type of value ", quoted(name), " is not known");
  }
  return {name, found->second, "value " + quoted(name)};
}

// PrepareOptions::class_axis, from the start.
std::optional<std::size_t> said_axis(const Asked& asked, const PrepareOptions& options) {
  if (!options.class_axis) return {};
  const std::int64_t said = *options.class_axis;
  if (!traits_of(options).has_class_axis()) {
    fail(ErrorCode::mismatch, "class axis ", said,
         " has no effect: ", traits_of(options).in_messages, " has no classes along an axis");
  }
  if (options.head) {
    fail(ErrorCode::mismatch, "class axis ", said, " has no effect: a new head makes the scores");
  }
  if (!asked.type.dims) {
    fail(ErrorCode::mismatch, "class axis ", said, " needs the rank of ", asked.what,
         ", which is not known");
  }
  const std::int64_t rank = std::ssize(*asked.type.dims);
  const std::int64_t axis = said < 0 ? said + rank : said;
  if (axis < 1 || axis >= rank) {
    fail(ErrorCode::mismatch, "class axis ", said, ": ", asked.what, " has ", rank,
         " axes, of which axis 0 is the batch");
  }
  return static_cast<std::size_t>(axis);
}

// Moves the classes to axis 1. `said`: by the options.
void place_classes(Prediction& prediction, const Asked& asked, std::optional<std::size_t> axis,
                   std::optional<std::size_t> said) {
  if (said && axis && *axis != *said) {
    fail(ErrorCode::mismatch, "class axis ", *said, ": the model says that the classes of ",
         asked.what, " are axis ", *axis);
  }
  if (said) axis = said;
  if (!axis && prediction.dims && prediction.dims->size() != 2) {
    fail(ErrorCode::mismatch, "it cannot be told which axis of ", asked.what,
         " holds the classes; name the logits as the loss output");
  }
  prediction.class_axis = axis.value_or(1);
  if (prediction.class_axis == 1) return;
  if (!prediction.dims || prediction.class_axis == 0 ||
      prediction.class_axis >= prediction.dims->size()) {
    fail(ErrorCode::mismatch, "the classes of ", asked.what, " are axis ", prediction.class_axis,
         "; the loss needs them after the batch");
  }
  const auto dims = prediction.dims->begin();
  const auto classes = dims + static_cast<std::ptrdiff_t>(prediction.class_axis);
  std::rotate(dims + 1, classes, classes + 1);
}

// Sums of products are not probabilities.
void refuse_logits(ValueTrace& trace, const Asked& asked, Loss loss) {
  const std::string layer = product_source(trace, asked.value);
  if (layer.empty()) return;
  fail(ErrorCode::mismatch, asked.what, " is made by ", layer,
       " and holds no probabilities; use the loss on logits, ",
       traits_of(loss).has_class_axis() ? "softmax-cross-entropy" : "bce");
}

// The nearest Softmax says over which axis probabilities sum to 1.
void read_probabilities(Prediction& prediction, const Asked& asked, const ModelDef& model,
                        const ValueTypes& types, Loss loss, std::optional<std::size_t> said) {
  ValueTrace trace(model.graph, model.functions);
  const bool has_classes = traits_of(loss).has_class_axis();
  prediction.is_log = has_classes && is_log_probability(trace, asked.value);
  const std::string source = probability_source(trace, asked.value);
  if (source.empty() && !prediction.is_log) {
    refuse_logits(trace, asked, loss);
    prediction.reason = asked.what + ", taken for probabilities";
    if (said) place_classes(prediction, asked, {}, said);
    return;
  }
  prediction.reason = asked.what + ", which holds " + (prediction.is_log ? "logarithms of " : "") +
                      "probabilities" + (source.empty() ? "" : " made by " + source);
  if (!has_classes) return;
  ModelDef copy = model;
  Names names(copy);
  const auto logits = find_logits(copy, names, asked.value, Loss::softmax_cross_entropy);
  if (!logits || !logits->axis) {
    if (said) place_classes(prediction, asked, {}, said);
    return;
  }
  const auto rank = prediction.dims ? std::optional(prediction.dims->size()) : std::nullopt;
  place_classes(prediction, asked, find_class_axis(copy.graph, types, *logits, rank), said);
}

// CTC reads [batch, steps, classes]: its classes must be the last axis.
void require_last(const Asked& asked, std::optional<std::size_t> axis,
                  std::optional<std::size_t> rank) {
  if (!axis || !rank || *axis + 1 == *rank) return;
  fail(ErrorCode::mismatch, "the classes of ", asked.what, " are axis ", *axis,
       "; CTC needs logits [batch, steps, classes]");
}

void read_logits(Prediction& prediction, const Asked& asked, ModelDef& model, Names& names,
                 const ValueTypes& types, Loss loss, std::optional<std::size_t> said) {
  auto logits = find_logits(model, names, asked.value, loss);
  if (!logits) {
    ValueTrace trace(model.graph, model.functions);
    const std::string source = probability_source(trace, asked.value);
    if (!source.empty()) refuse_probabilities(asked.value, source, loss);
    prediction.reason = asked.what + ", taken for logits";
    return;
  }
  if (traits_of(loss).reads_softmax()) {
    const auto rank = prediction.dims ? std::optional(prediction.dims->size()) : std::nullopt;
    const auto axis = find_class_axis(model.graph, types, *logits, rank);
    if (traits_of(loss).is_sequence()) {
      require_last(asked, axis, rank);
    } else {
      place_classes(prediction, asked, axis, said);
    }
  }
  prediction.reason =
      "the logits of which " + logits->made_by + " makes the probabilities of " + asked.what;
  prediction.value = std::move(logits->value);
  prediction.moves = std::move(logits->moves);
}

// Places the classes of logits that no Softmax reads: `axis` of a new head; else the last one where
// a linear layer makes them, as the scores [N, T, classes] of language models.
void place_plain_classes(Prediction& prediction, const Asked& asked, const ModelDef& model,
                         std::size_t axis, std::optional<std::size_t> said) {
  const std::size_t rank = prediction.dims ? prediction.dims->size() : 0;
  const auto is_linear = [&] {
    ModelDef plain = model;
    leave_out_adapters(plain);
    ValueTrace trace(plain.graph, plain.functions);
    return is_made_by_linear_layer(trace, asked.value);
  };
  if (said) return place_classes(prediction, asked, {}, said);
  if (axis == 1 && rank > 2 && is_linear()) {
    axis = rank - 1;
    prediction.reason += " of the classes on its last axis, as a linear layer makes them";
  }
  if (axis != 1) place_classes(prediction, asked, axis, {});
}

// Classes of labels, which are one for each row of the batch.
void require_classes_beside_batch(const Prediction& prediction, const Asked& asked,
                                  const GraphDef& main, const PrepareOptions& options) {
  if (!traits_of(options).has_class_axis() || !asked.type.dims) return;
  const auto batch = batch_axis(main, *asked.type.dims);
  if (!batch || *batch != prediction.class_axis) return;
  fail(ErrorCode::mismatch, "axis ", *batch, " of ", asked.what,
       " would hold the classes, but it is the batch, as the first axis of the inputs; ",
       traits_of(options).in_messages, " needs the batch on axis 0");
}

// Whether `types` has all values of which the graph declares a type.
bool has_declared(const ValueTypes& types, const GraphDef& graph) {
  const auto has_all = [&](const std::vector<ValueDef>& list) {
    return std::all_of(list.begin(), list.end(),
                       [&](const ValueDef& one) { return types.contains(one.name); });
  };
  return has_all(graph.outputs) && has_all(graph.inputs) && has_all(graph.value_infos);
}

}  // namespace

std::string asked_value(const GraphDef& graph, const ValueTypes& types, const std::string& output) {
  return find_asked(graph, known_types(graph, types), output).value;
}

Prediction find_prediction(ModelDef& model, Names& names, const ValueTypes& types,
                           const PrepareOptions& options, std::size_t class_axis) {
  const GraphDef& main = model.graph;
  const bool is_known = has_declared(types, main);
  const ValueTypes completed = is_known ? ValueTypes() : known_types(main, types);
  const ValueTypes& known = is_known ? types : completed;
  const Asked asked = find_asked(main, known, options.output);
  if (!is_readable(asked.type)) {
    const bool is_tensor = asked.type.kind == TypeKind::tensor;
    fail(ErrorCode::mismatch, "a loss needs a floating point tensor, ", asked.what, " is ",
         is_tensor ? "of type " : "none",
         is_tensor ? to_string(asked.type.dtype) : std::string_view());
  }
  Prediction prediction;
  prediction.value = asked.value;
  prediction.asked = asked.value;
  prediction.dtype = asked.type.dtype;
  prediction.dims = asked.type.dims;
  prediction.reason = asked.what;
  const std::optional<std::size_t> said = said_axis(asked, options);
  const LossTraits& loss = traits_of(options);
  if (loss.reads_softmax() || loss.reads_sigmoid()) {
    read_logits(prediction, asked, model, names, known, options.loss, said);
    const bool is_plain = prediction.value == asked.value;
    if (loss.has_class_axis() && is_plain) {
      place_plain_classes(prediction, asked, model, class_axis, said);
    }
  } else if (loss.reads_probabilities()) {
    read_probabilities(prediction, asked, model, known, options.loss, said);
  }
  if (asked.type.dims) {
    const std::string remark =
        check_batch_axis(model.graph, asked.what, *asked.type.dims, options.loss);
    if (options.row_weights && !remark.empty()) {
      fail(ErrorCode::mismatch, "weights of rows need the batch on axis 0 of ", asked.what, remark);
    }
    prediction.reason += remark;
  }
  if (loss.is_sequence()) prediction.reason += ", read as [batch, steps, classes]";
  require_classes_beside_batch(prediction, asked, model.graph, options);
  return prediction;
}

void write_moves(GraphWriter& writer, Prediction& prediction) {
  for (NodeDef move : prediction.moves) {
    if (move.op == "Identity") continue;
    move.name.clear();
    move.inputs[0] = prediction.value;
    prediction.value = writer.names().fresh("loss.prediction");
    move.outputs = {prediction.value};
    writer.graph().nodes.push_back(std::move(move));
  }
  if (prediction.class_axis == 1) return;
  prediction.value = move_classes(writer, prediction, prediction.value);
}

std::string move_classes(GraphWriter& writer, const Prediction& prediction,
                         const std::string& value) {
  std::vector<std::int64_t> order{0, static_cast<std::int64_t>(prediction.class_axis)};
  for (std::size_t i = 1; i < prediction.dims->size(); ++i) {
    if (i != prediction.class_axis) order.push_back(static_cast<std::int64_t>(i));
  }
  return writer.node("Transpose", {value}, "loss.prediction", {{"perm", std::move(order)}});
}

}  // namespace ondine::graph
