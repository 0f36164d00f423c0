// y = x w + scale (x a) b, and with DoRA m / |w + scale a b| times that.
#include <algorithm>
#include <cmath>

#include "core/filled_tensor.h"
#include "core/message.h"
#include "core/to_doubles.h"
#include "graph/training/adapters/adapter_writer.h"
#include "graph/training/adapters/low_rank_nodes.h"
#include "graph/training/adapters/principal.h"
#include "graph/training/adapters/products.h"
#include "graph/training/prepare/head/draw_weight.h"
#include "graph/training/prepare/losses/pieces.h"

namespace ondine::graph {
namespace {

constexpr std::int64_t most_rank = 1 << 16;

InitializerDef& initializer(GraphDef& graph, const std::string& name) {
  return *std::find_if(graph.initializers.begin(), graph.initializers.end(),
                       [&](const InitializerDef& one) { return one.name == name; });
}

// [rows, cols] by rows, the other way round.
std::vector<double> turned(const std::vector<double>& from, std::int64_t cols) {
  const auto width = static_cast<std::size_t>(cols);
  const std::size_t height = from.size() / width;
  std::vector<double> to(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) to[i % width * height + i / width] = from[i];
  return to;
}

// Principal factors of the weight with a column for each output.
PrincipalFactors principal_of(const std::vector<double>& weight, const Shape& shape,
                              std::int64_t rank, bool transposed) {
  PrincipalFactors found = principal_factors(weight, shape[0], shape[1], rank);
  if (!transposed) return found;
  return {turned(found.right, shape[1]), turned(found.left, rank)};
}

// A power of two: lengths from its inverse on that are multiplied by it are whole numbers.
double whole_from(DType dtype) { return std::ldexp(1.0, dtype == DType::float64 ? 512 : 80); }

}  // namespace

DType fresh_type(DType dtype) noexcept { return is_low_precision(dtype) ? DType::float32 : dtype; }

void check_lora(const Lora& lora) {
  if (lora.rank < 1 || lora.rank > most_rank) {
    fail(ErrorCode::mismatch, "the rank of adapters is ", lora.rank, ", needed: 1 to ", most_rank);
  }
  if (!(lora.alpha > 0 && std::isfinite(lora.alpha))) {
    fail(ErrorCode::mismatch, "the alpha of adapters is ", static_cast<double>(lora.alpha),
         ", needed: a positive number");
  }
  if (!(lora.dropout >= 0 && lora.dropout < 1)) {
    fail(ErrorCode::mismatch, "the dropout of adapters is ", static_cast<double>(lora.dropout),
         ", needed: a number from 0 to below 1");
  }
}

std::string AdapterWriter::parameter(const std::string& hint, Tensor value, FreshRule rule) const {
  std::string name = writer->initializer(hint, std::move(value));
  attached->trained.push_back(name);
  attached->rules.emplace(name, std::move(rule));
  return name;
}

void AdapterWriter::move_aside(Adapter& adapter) const {
  NodeDef& node = writer->graph().nodes.back();
  adapter.output = node.outputs[0];
  adapter.base = writer->names().fresh(adapter.output + ".base");
  node.outputs[0] = adapter.base;
}

void AdapterWriter::finish(Adapter adapter) const {
  writer->graph().nodes.back().outputs = {adapter.output};
  record->layers.push_back(std::move(adapter));
}

double LowRankWriter::scale() const {
  const auto rank = static_cast<double>(lora_->rank);
  return static_cast<double>(lora_->alpha) / (lora_->rank_stabilized ? std::sqrt(rank) : rank);
}

// The node is the last one of the graph.
void LowRankWriter::add(const AdapterLayer& layer) {
  GraphWriter& writer = *to_.writer;
  Adapter adapter = matrices(layer);
  if (lora_->init == LoraInit::pissa) start_from_principal(layer, adapter);
  if (lora_->dora) add_magnitude(layer, adapter);
  to_.move_aside(adapter);
  const NodeDef base = writer.graph().nodes.back();
  const std::string scaled = scaled_product(layer, adapter, base);
  if (!lora_->dora) {
    writer.node("Add", {adapter.base, scaled}, adapter.output);
    return to_.finish(std::move(adapter));
  }
  const std::string hint = layer.module + ".dora";
  const std::string bias = bias_of(layer);
  std::string sum = adapter.base;
  if (!bias.empty()) sum = writer.node("Sub", {sum, bias}, hint);
  sum = writer.node("Add", {sum, scaled}, hint);
  sum = writer.node("Mul", {sum, ratio(layer, adapter)}, hint);
  if (!bias.empty()) writer.node("Add", {sum, bias}, hint);
  to_.finish(std::move(adapter));
}

Adapter LowRankWriter::matrices(const AdapterLayer& layer) {
  const std::int64_t rank = lora_->rank;
  Adapter adapter;
  adapter.form = layer.form;
  adapter.module = layer.module;
  adapter.weight = layer.weight;
  adapter.transposed = layer.transposed;
  adapter.scale = scale();
  adapter.merged_scale = adapter.scale / layer.factor;
  Shape a{layer.in, rank};
  Shape b{rank, layer.out};
  if (layer.form == LayerForm::convolution) {
    a = layer.shape;
    a[0] = rank;
    b = Shape(std::vector<std::int64_t>(layer.shape.rank(), 1));
    b[0] = layer.out;
    b[1] = rank;
  }
  const RandomKey key{.stream = static_cast<std::uint32_t>(to_.record->layers.size())};
  const std::string name = layer.module + ".lora_";
  if (layer.form == LayerForm::embedding) {
    adapter.a = to_.parameter(name + "A", Tensor(layer.dtype, a), FilledWith{0});
    Tensor drawn = filled_tensor(b, layer.dtype, [&](std::size_t i) { return normal_at(key, i); });
    adapter.b = to_.parameter(name + "B", std::move(drawn), DrawnNormal{1});
  } else {
    Tensor drawn = draw_weight(a, layer.dtype, layer.in, key);
    adapter.a = to_.parameter(name + "A", std::move(drawn), DrawnByUse{});
    adapter.b = to_.parameter(name + "B", Tensor(layer.dtype, b), FilledWith{0});
  }
  return adapter;
}

// The weight becomes what the rounded factors leave of it.
void LowRankWriter::start_from_principal(const AdapterLayer& layer, const Adapter& adapter) {
  const Tensor* stored = to_.finder->stored(layer.weight);
  if (layer.form != LayerForm::linear || stored == nullptr) {
    fail(ErrorCode::mismatch,
         "adapters that start from singular values (PiSSA) need linear layers "
         "with stored weights of floating point; the layer ",
         quoted(layer.module), " is none");
  }
  if (lora_->rank > std::min(layer.in, layer.out) || !(adapter.merged_scale > 0)) {
    fail(ErrorCode::mismatch, "the layer ", quoted(layer.module), " has ",
         std::min(layer.in, layer.out), " singular values and the factor ", layer.factor,
         "; adapters that start from them (PiSSA) need a rank of at most that, here ", lora_->rank,
         ", and a positive factor");
  }
  const Shape shape = stored->shape();
  const std::vector<double> weight = *to_doubles(*stored);
  const PrincipalFactors factors = principal_of(weight, shape, lora_->rank, layer.transposed);
  const double root = std::sqrt(adapter.merged_scale);
  GraphDef& graph = to_.writer->graph();
  const auto put = [&](const std::string& name, const std::vector<double>& values) -> Tensor& {
    Tensor& value = initializer(graph, name).value;
    const auto at = [&](std::size_t i) { return values[i] / root; };
    value = filled_tensor(value.shape(), value.dtype(), at);
    to_.attached->rules[name] = filled_tensor(value.shape(), fresh_type(value.dtype()), at);
    return value;
  };
  const Tensor a = put(adapter.a, factors.left);
  const Tensor b = put(adapter.b, factors.right);
  const std::vector<double> taken = low_rank_product(adapter, a, b);
  initializer(graph, layer.weight).value =
      filled_tensor(shape, layer.dtype, [&](std::size_t i) { return weight[i] - taken[i]; });
}

void LowRankWriter::add_magnitude(const AdapterLayer& layer, Adapter& adapter) {
  const Tensor* stored = to_.finder->stored(layer.weight);
  if (stored == nullptr) {
    fail(ErrorCode::mismatch, "the weight ", quoted(layer.weight), " of the layer ",
         quoted(layer.module), " is computed; adapters with lengths (DoRA) need a stored one");
  }
  std::vector<double> sum = *to_doubles(*stored);
  if (lora_->init == LoraInit::pissa) {
    const GraphDef& graph = to_.writer->graph();
    const InitializerIndex index(graph);
    const std::vector<double> part =
        low_rank_product(adapter, index.find(adapter.a)->value, index.find(adapter.b)->value);
    sum = *to_doubles(index.find(layer.weight)->value);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
  }
  const std::vector<double> lengths = output_lengths(sum, layer.shape, layer.transposed);
  const auto zero = std::find(lengths.begin(), lengths.end(), 0.0);
  if (zero != lengths.end()) {
    fail(ErrorCode::mismatch, "output ", zero - lengths.begin(), " of the layer ",
         quoted(layer.module), " has a weight of zeros, whose direction (DoRA) is not defined");
  }
  const auto at = [&](std::size_t i) { return lengths[i]; };
  adapter.magnitude =
      to_.parameter(layer.module + ".lora_magnitude", filled_tensor({layer.out}, layer.dtype, at),
                    filled_tensor({layer.out}, fresh_type(layer.dtype), at));
}

std::string LowRankWriter::scaled_product(const AdapterLayer& layer, const Adapter& adapter,
                                          const NodeDef& base) {
  GraphWriter& writer = *to_.writer;
  const std::string hint = layer.module + ".lora";
  const std::string& x = base.inputs[layer.data];
  const bool drops = layer.form != LayerForm::embedding;
  const std::string product =
      low_rank_nodes(writer, layer.form, base, drops ? dropped(x) : x, adapter.a, adapter.b, hint);
  return writer.node("Mul", {product, scale_of(layer.dtype)}, hint);
}

std::string LowRankWriter::scale_of(DType dtype) {
  std::string& name = scales_[dtype];
  if (name.empty()) name = to_.writer->scalar("lora.scale", scale(), dtype);
  return name;
}

// Layers that read one value share what is dropped of it no more than PyTorch's modules do.
std::string LowRankWriter::dropped(const std::string& x) {
  if (lora_->dropout == 0) return x;
  GraphWriter& writer = *to_.writer;
  if (writer.opset() < 12) {
    return writer.node("Dropout", {x}, x + ".dropped", {{"ratio", lora_->dropout}});
  }
  if (dropped_part_.empty()) {
    const auto part = static_cast<double>(lora_->dropout);
    dropped_part_ = writer.scalar("lora.dropout", part, DType::float32);
  }
  return writer.node("Dropout", {x, dropped_part_}, x + ".dropped");
}

// m / |w + scale a b|. Derivatives do not pass Floor, which changes nothing: float numbers of this
// size are whole.
std::string LowRankWriter::ratio(const AdapterLayer& layer, const Adapter& adapter) {
  GraphWriter& writer = *to_.writer;
  const std::string hint = layer.module + ".length";
  const auto reshaped = [&](const std::string& value, std::vector<std::int64_t> shape) {
    return writer.node("Reshape", {value, integers(writer, hint + ".shape", shape)}, hint);
  };
  std::string weight = layer.weight;
  std::string product;
  if (layer.form == LayerForm::convolution) {
    weight = reshaped(weight, {layer.out, layer.in});
    product = writer.node("MatMul",
                          {reshaped(adapter.b, {layer.out, lora_->rank}),
                           reshaped(adapter.a, {lora_->rank, layer.in})},
                          hint);
  } else {
    product = writer.node("MatMul", {adapter.a, adapter.b}, hint);
    if (layer.transposed) product = writer.node("Transpose", {product}, hint);
  }
  const std::string scale = layer.factor == 1
                                ? scale_of(layer.dtype)
                                : writer.scalar("lora.scale", adapter.merged_scale, layer.dtype);
  std::string sum = writer.node("Add", {weight, writer.node("Mul", {product, scale}, hint)}, hint);
  const DType type = fresh_type(layer.dtype);
  if (type != layer.dtype) sum = writer.cast(sum, type, hint);
  std::string length = reduce(writer, "ReduceL2", sum, {layer.transposed ? 1 : 0}, false, hint);
  const double whole = whole_from(type);
  length = writer.node("Mul", {length, writer.scalar(hint + ".whole", whole, type)}, hint);
  length = writer.node("Floor", {length}, hint);
  length = writer.node("Mul", {length, writer.scalar(hint + ".part", 1 / whole, type)}, hint);
  std::string magnitude = adapter.magnitude;
  if (type != layer.dtype) magnitude = writer.cast(magnitude, type, hint);
  std::string result = writer.node("Div", {magnitude, length}, hint);
  if (type != layer.dtype) result = writer.cast(result, layer.dtype, hint);
  if (layer.form != LayerForm::convolution) return result;
  std::vector<std::int64_t> shape(layer.shape.rank() - 1, 1);
  shape[0] = layer.out;
  return reshaped(result, shape);
}

// The bias that the layer adds to the product; "" if it adds none.
std::string LowRankWriter::bias_of(const AdapterLayer& layer) {
  if (layer.bias.empty()) return {};
  GraphWriter& writer = *to_.writer;
  const std::string hint = layer.module + ".bias";
  if (layer.form == LayerForm::convolution) {
    std::vector<std::int64_t> shape(layer.shape.rank() - 1, 1);
    shape[0] = layer.out;
    return writer.node("Reshape", {layer.bias, integers(writer, hint + ".shape", shape)}, hint);
  }
  if (layer.bias_factor == 1) return layer.bias;
  const std::string factor = writer.scalar(hint + ".beta", layer.bias_factor, layer.dtype);
  return writer.node("Mul", {layer.bias, factor}, hint);
}

}  // namespace ondine::graph
