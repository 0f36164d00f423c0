#include "trainer/hugging_face/network.h"

#include <utility>

#include "core/message.h"
#include "core/scalar.h"

namespace ondine::hugging_face {
namespace {

graph::ModelDef& begin(graph::ModelDef& model) {
  model.ir_version = ir_version;
  model.producer_name = "ondine";
  model.opsets = {{"", opset}};
  model.graph.name = "network";
  return model;
}

}  // namespace

Network::Network(graph::ModelDef& model, Weights& weights)
    : model_(&begin(model)),
      weights_(&weights),
      names_(model),
      writer_(model.graph, names_, opset) {}

std::string Network::input(const std::string& name, DType dtype, std::vector<graph::DimDef> dims) {
  graph::ValueDef value;
  value.name = names_.fresh(name);
  value.type = graph::tensor_type(dtype, std::move(dims));
  model_->graph.inputs.push_back(std::move(value));
  return name;
}

void Network::output(const std::string& name, std::vector<graph::DimDef> dims) {
  writer_.output(name, DType::float32, std::move(dims));
}

std::string Network::node(const std::string& op, std::vector<std::string> inputs,
                          graph::Attributes attributes) {
  return named(op, std::move(inputs), op, std::move(attributes));
}

std::string Network::named(const std::string& op, std::vector<std::string> inputs,
                           const std::string& name, graph::Attributes attributes) {
  return nodes(op, std::move(inputs), {name}, std::move(attributes))[0];
}

std::vector<std::string> Network::nodes(const std::string& op, std::vector<std::string> inputs,
                                        const std::vector<std::string>& names,
                                        graph::Attributes attributes) {
  return writer_.nodes(op, std::move(inputs), names, std::move(attributes));
}

std::string Network::integers(const std::vector<std::int64_t>& values) {
  std::string key = "integers";
  for (const std::int64_t value : values) key += cat(".", value);
  auto [at, is_new] = written_.try_emplace(key);
  if (is_new) {
    at->second = writer_.initializer(
        key, Tensor::of(Shape{static_cast<std::int64_t>(values.size())}, values));
  }
  return at->second;
}

std::string Network::integer(std::int64_t value) {
  auto [at, is_new] = written_.try_emplace(cat("integer.", value));
  if (is_new) at->second = writer_.initializer(at->first, Tensor::scalar(value));
  return at->second;
}

std::string Network::number(double value) {
  auto [at, is_new] = written_.try_emplace(cat("number.", value));
  if (is_new) at->second = writer_.scalar(at->first, value, DType::float32);
  return at->second;
}

std::string Network::constant(const std::string& name, const std::vector<float>& values) {
  return writer_.initializer(name,
                             Tensor::of(Shape{static_cast<std::int64_t>(values.size())}, values));
}

std::string Network::weight(const std::string& name, const Shape& shape, Form form) {
  auto [at, is_new] = written_.try_emplace(name);
  if (is_new) at->second = writer_.initializer(name, weights_->take(name, shape, form));
  return at->second;
}

std::string Network::linear(const std::string& x, const std::string& module, std::int64_t from,
                            std::int64_t to, bool has_bias) {
  const std::string y =
      node("MatMul", {x, weight(module + ".weight", {to, from}, Form::transposed)});
  return has_bias ? add(y, weight(module + ".bias", {to})) : y;
}

std::string Network::conv1d(const std::string& x, const std::string& module, std::int64_t from,
                            std::int64_t to) {
  const std::string y = node("MatMul", {x, weight(module + ".weight", {from, to})});
  return add(y, weight(module + ".bias", {to}));
}

std::string Network::tied_scores(const std::string& x, const std::string& table) {
  const std::string turned =
      node("Transpose", {table}, {{"perm", std::vector<std::int64_t>{1, 0}}});
  return node("MatMul", {x, turned});
}

std::string Network::layer_norm(const std::string& x, const std::string& module, std::int64_t width,
                                double epsilon) {
  // Files of early versions call them gamma and beta.
  const auto name = [&](const char* now, const char* before) {
    const std::string old = cat(module, ".", before);
    return weights_->has(old) ? old : cat(module, ".", now);
  };
  return node("LayerNormalization",
              {x, weight(name("weight", "gamma"), {width}), weight(name("bias", "beta"), {width})},
              {{"axis", std::int64_t{-1}}, {"epsilon", static_cast<float>(epsilon)}});
}

std::string Network::activation(const std::string& x, const std::string& name,
                                const std::string& member) {
  if (name == "silu" || name == "swish") return node("Mul", {x, node("Sigmoid", {x})});
  if (name == "gelu") return node("Gelu", {x});
  if (name == "gelu_new" || name == "gelu_pytorch_tanh") {
    return node("Gelu", {x}, {{"approximate", std::string("tanh")}});
  }
  if (name == "relu") return node("Relu", {x});
  if (name == "tanh") return node("Tanh", {x});
  fail(ErrorCode::unsupported, member, " is ", quoted(name),
       ", supported are gelu, gelu_new, gelu_pytorch_tanh, relu, silu and tanh");
}

std::string Network::scaled(const std::string& x, double factor) {
  return factor == 1 ? x : node("Mul", {x, number(factor)});
}

std::string Network::size_of_dim(const std::string& x, std::int64_t axis) {
  const std::string size = node("Shape", {x}, {{"start", axis}, {"end", axis + 1}});
  return node("Squeeze", {size, integers({0})});
}

std::string Network::range(const std::string& from, const std::string& to) {
  return node("Range", {from, to, integer(1)});
}

}  // namespace ondine::hugging_face
