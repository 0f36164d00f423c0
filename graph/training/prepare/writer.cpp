#include "graph/training/prepare/writer.h"

#include "core/message.h"
#include "core/scalar.h"
#include "core/stop.h"

namespace ondine::graph {

bool is_low_precision(DType dtype) noexcept {
  return dtype == DType::float16 || dtype == DType::bfloat16;
}

TypeDef tensor_type(DType dtype, std::optional<std::vector<DimDef>> dims) {
  TypeDef type;
  type.kind = TypeKind::tensor;
  type.dtype = dtype;
  type.dims = std::move(dims);
  return type;
}

std::vector<DimDef> to_dim_defs(const Shape& shape) {
  std::vector<DimDef> dims;
  for (const std::int64_t dim : shape) dims.emplace_back(dim);
  return dims;
}

std::vector<std::string> GraphWriter::nodes(const std::string& op, std::vector<std::string> inputs,
                                            const std::vector<std::string>& hints,
                                            Attributes attributes, const std::string& domain) {
  checkpoint(1024);
  NodeDef node;
  node.op = op;
  node.domain = domain;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  for (const std::string& hint : hints) {
    node.outputs.push_back(hint.empty() ? std::string() : names_->fresh(hint));
  }
  std::vector<std::string> outputs = node.outputs;
  graph_->nodes.push_back(std::move(node));
  return outputs;
}

std::string GraphWriter::node(const std::string& op, std::vector<std::string> inputs,
                              const std::string& hint, Attributes attributes,
                              const std::string& domain) {
  return nodes(op, std::move(inputs), {hint}, std::move(attributes), domain)[0];
}

std::string GraphWriter::initializer(const std::string& hint, Tensor value) {
  std::string name = names_->fresh(hint);
  InitializerDef& added = graph_->initializers.emplace_back();
  added.name = name;
  added.value = std::move(value);
  return name;
}

std::string GraphWriter::scalar(const std::string& hint, double value, DType dtype) {
  if (!is_differentiable(dtype)) fail(ErrorCode::unsupported, "training of ", dtype, " tensors");
  return initializer(hint, scalar_tensor(value, dtype));
}

std::string GraphWriter::cast(const std::string& value, DType to, const std::string& hint) {
  return node("Cast", {value}, hint, {{"to", static_cast<std::int64_t>(to)}});
}

void GraphWriter::output(const std::string& name, DType dtype,
                         std::optional<std::vector<DimDef>> dims) {
  ValueDef value;
  value.name = name;
  value.type = tensor_type(dtype, std::move(dims));
  graph_->outputs.push_back(std::move(value));
}

void GraphWriter::output(const std::string& name, const Tensor& like) {
  output(name, like.dtype(), to_dim_defs(like.shape()));
}

}  // namespace ondine::graph
