#include "graph/training/prepare/losses/loss_model.h"

#include <algorithm>

#include "core/message.h"
#include "graph/training/prepare/parameters/parameters.h"

namespace ondine::graph {
namespace {

constexpr const char* loss_domain = "ondine.loss";
constexpr std::int64_t first_ir_with_functions = 8;

Strings values_of(const GraphDef& graph) {
  Strings values;
  for (const ValueDef& input : graph.inputs) values.insert(input.name);
  for (const InitializerDef& one : graph.initializers) values.insert(one.name);
  for (const NodeDef& node : graph.nodes) values.insert(node.outputs.begin(), node.outputs.end());
  values.erase("");
  return values;
}

std::string names_of(const std::vector<ValueDef>& values) {
  std::string text;
  for (const ValueDef& value : values) text += (text.empty() ? "" : ", ") + quoted(value.name);
  return text.empty() ? "none" : text;
}

const ValueDef& check_output(const ModelDef& loss) {
  if (!loss.training.empty()) {
    fail(ErrorCode::mismatch, "the loss model has training information; a loss is an inference ",
         "model");
  }
  const auto& outputs = loss.graph.outputs;
  if (outputs.size() != 1) {
    fail(ErrorCode::mismatch, "the loss model has ", outputs.size(), " outputs (",
         names_of(outputs), "), needed: one, the loss");
  }
  const TypeDef& type = outputs[0].type;
  if (type.kind != TypeKind::tensor || !is_differentiable(type.dtype)) {
    fail(ErrorCode::mismatch, "output ", quoted(outputs[0].name),
         " of the loss model is no floating point tensor");
  }
  if (type.dims && !type.dims->empty()) {
    fail(ErrorCode::mismatch, "output ", quoted(outputs[0].name), " of the loss model has rank ",
         type.dims->size(), ", a loss is one number of rank 0 (ReduceMean with keepdims = 0)");
  }
  return outputs[0];
}

bool reads_cast(const ValueDef& input, const TypeDef& type) {
  return input.type.dtype == DType::float32 && is_low_precision(type.dtype);
}

void check_type(const ValueDef& input, const TypeDef& type) {
  const auto reject = [&](const std::string& found, const std::string& wanted) {
    fail(ErrorCode::mismatch, "input ", quoted(input.name), " of the loss model is ", wanted,
         ", the value of this name in the model is ", found);
  };
  if (type.kind != TypeKind::tensor) reject("no tensor", "a tensor");
  if (type.dtype != input.type.dtype && !reads_cast(input, type)) {
    reject(std::string(to_string(type.dtype)), std::string(to_string(input.type.dtype)));
  }
  if (!type.dims || !input.type.dims) return;
  const auto rank = [](const TypeDef& one) { return cat("of rank ", one.dims->size()); };
  if (type.dims->size() != input.type.dims->size()) reject(rank(type), rank(input.type));
  for (std::size_t i = 0; i < type.dims->size(); ++i) {
    const auto* has = std::get_if<std::int64_t>(&(*type.dims)[i]);
    const auto* wants = std::get_if<std::int64_t>(&(*input.type.dims)[i]);
    if (has == nullptr || wants == nullptr || *has == *wants) continue;
    reject(cat(*has, " along axis ", i), cat(*wants, " along axis ", i));
  }
}

// Names of dims in the loss model and what the main graph has in their place.
using DimMap = std::map<std::string, DimDef, std::less<>>;

void match_dims(const TypeDef& loss, const TypeDef& main, DimMap& map) {
  if (!loss.dims || !main.dims) return;
  for (std::size_t i = 0; i < loss.dims->size(); ++i) {
    if (const auto* name = std::get_if<DimName>(&(*loss.dims)[i])) {
      map.emplace(*name, (*main.dims)[i]);
    }
  }
}

// A name that is not matched means another size than in the main graph.
ValueDef as_label(const ValueDef& input, const DimMap& map) {
  ValueDef label = input;
  if (!label.type.dims) return label;
  for (DimDef& dim : *label.type.dims) {
    const auto* name = std::get_if<DimName>(&dim);
    if (name == nullptr) continue;
    const auto found = map.find(*name);
    dim = found == map.end() ? DimDef(std::monostate()) : found->second;
  }
  return label;
}

NodeDef constant(const std::string& name, Attribute value) {
  NodeDef node;
  node.op = "Constant";
  node.outputs = {name};
  node.attributes = {std::move(value)};
  return node;
}

FunctionDef as_function(const ModelDef& loss, const std::vector<std::string>& inputs) {
  FunctionDef function;
  function.name = "loss";
  function.domain = loss_domain;
  function.inputs = inputs;
  function.outputs = {loss.graph.outputs[0].name};
  function.opsets = loss.opsets;
  for (const InitializerDef& one : loss.graph.initializers) {
    if (std::find(inputs.begin(), inputs.end(), one.name) != inputs.end()) continue;
    function.nodes.push_back(constant(one.name, {"value", one.value}));
  }
  for (const SparseTensorDef& one : loss.graph.sparse_initializers) {
    function.nodes.push_back(constant(one.name, {"sparse_value", one}));
  }
  function.nodes.insert(function.nodes.end(), loss.graph.nodes.begin(), loss.graph.nodes.end());
  return function;
}

void import_domain(ModelDef& model, const std::string& domain, std::int64_t version) {
  const auto found = std::find_if(model.opsets.begin(), model.opsets.end(),
                                  [&](const OpsetImport& one) { return one.domain == domain; });
  if (found == model.opsets.end()) model.opsets.push_back({domain, version});
}

void add_function(ModelDef& model, const FunctionDef& function) {
  for (const FunctionDef& other : model.functions) {
    if (other.name != function.name || other.domain != function.domain ||
        other.overload != function.overload) {
      continue;
    }
    fail(ErrorCode::mismatch, "the model and the loss model both have a function ",
         quoted(function.name), " of domain ", quoted(function.domain),
         "; rename that of the loss");
  }
  model.functions.push_back(function);
}

}  // namespace

MatchedLoss match_loss_model(const ModelDef& loss, const GraphDef& main, const ValueTypes& types) {
  MatchedLoss matched;
  matched.dtype = check_output(loss).type.dtype;
  const Strings values = values_of(main);
  const ValueTypes known = known_types(main, types);
  DimMap dims;
  std::vector<const ValueDef*> others;
  bool reads_number = false;
  for (const ValueDef& input : loss.graph.inputs) {
    if (!values.contains(input.name)) {
      if (find_initializer(loss.graph, input.name) == nullptr) others.push_back(&input);
      continue;
    }
    matched.reads.push_back(input.name);
    matched.reason +=
        (matched.reason.empty() ? "inputs of the loss model: " : ", ") + quoted(input.name);
    reads_number = reads_number || is_differentiable(input.type.dtype);
    const auto type = known.find(input.name);
    matched.casts.push_back(type != known.end() && reads_cast(input, type->second));
    if (type == known.end()) continue;
    check_type(input, type->second);
    match_dims(input.type, type->second, dims);
  }
  const bool takes_labels = std::none_of(loss.metadata.begin(), loss.metadata.end(),
                                         [](const auto& one) { return one.first == no_labels; });
  if (!takes_labels && !others.empty()) {
    fail(ErrorCode::mismatch, "the model has no value ", quoted(others[0]->name),
         " for the loss to read; its outputs are ", names_of(main.outputs));
  }
  if (!reads_number) {
    fail(ErrorCode::mismatch, "no floating point input of the loss model (it has ",
         names_of(loss.graph.inputs), ") has the name of a value of the model, whose outputs are ",
         names_of(main.outputs));
  }
  for (const ValueDef* input : others) {
    if (input->type.kind != TypeKind::tensor) {
      fail(ErrorCode::mismatch, "input ", quoted(input->name),
           " of the loss model is neither a value of the model nor a tensor");
    }
    matched.labels.push_back(as_label(*input, dims));
  }
  return matched;
}

LossValues write_loss_model(GraphWriter& writer, ModelDef& model, const ModelDef& loss,
                            const MatchedLoss& matched, const std::vector<std::string>& values) {
  std::vector<std::string> formals = matched.reads;
  std::vector<std::string> arguments = values;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (matched.casts[i]) arguments[i] = writer.cast(values[i], DType::float32, "loss.float");
  }
  for (const ValueDef& label : matched.labels) {
    if (writer.names().contains(label.name)) {
      fail(ErrorCode::mismatch, "input ", quoted(label.name),
           " of the loss model has the name of a value inside the model; rename it");
    }
    arguments.push_back(writer.names().fresh(label.name));
    formals.push_back(label.name);
    writer.graph().inputs.push_back(label);
  }
  std::erase_if(model.functions, [](const auto& one) { return one.domain == loss_domain; });
  for (const FunctionDef& function : loss.functions) add_function(model, function);
  model.functions.push_back(as_function(loss, formals));
  model.ir_version = std::max(model.ir_version, first_ir_with_functions);
  import_domain(model, loss_domain, 1);
  LossValues result{{}, {}, matched.dtype};
  result.loss = writer.node("loss", std::move(arguments), "loss", {}, loss_domain);
  writer.output(result.loss, result.dtype, std::vector<DimDef>{});
  return result;
}

}  // namespace ondine::graph
