#include "tests/fuzz/any_network.h"

#include <algorithm>
#include <utility>

#include "core/random/random.h"
#include "tests/support/models.h"

namespace ondine::test {
namespace {

using namespace graph;  // NOLINT

using Dims = std::vector<std::int64_t>;

Shape shape_of(const Dims& dims) { return Shape(std::span<const std::int64_t>(dims)); }

// A local function y = f(x) with an attribute that has a default.
FunctionDef scaled_function() {
  FunctionDef function;
  function.name = "ScaledTanh";
  function.domain = "local";
  function.inputs = {"a"};
  function.outputs = {"b"};
  function.defaults = {{"by", 0.5F}};
  Attribute by;
  by.name = "value_float";
  by.kind = AttributeKind::real;
  by.ref = std::string("by");
  function.nodes = {node("Constant", {}, {"f"}, {by}), node("Mul", {"a", "f"}, {"af"}),
                    node("Tanh", {"af"}, {"b"})};
  function.opsets = {{"", 17}};
  return function;
}

class NetworkWriter {
 public:
  explicit NetworkWriter(Choices& choices) : choices_(&choices) {}

  Network write(std::size_t max_layers) {
    network_.model.ir_version = 10;
    network_.model.opsets = {{"", 17}, {"local", 1}};
    network_.model.functions = {scaled_function()};
    graph().name = "main";
    const std::vector<Dims> inputs{{2, 3}, {2, 4}, {2, 2, 4, 4}, {2, 3, 4}, {2}};
    network_.input = {"x", choices_->pick(inputs)};
    ValueDef x = tensor_value("x", DType::float32, {});
    x.type.dims->assign(network_.input.dims.begin(), network_.input.dims.end());
    if (choices_->once_in(2)) x.type.dims->front() = "N";
    graph().inputs = {x};
    values_ = {network_.input};
    // The first layer has weights, so that there is something to train.
    const NetworkValue w = weight(network_.input.dims);
    add(choices_->once_in(3) ? "Add" : "Mul", {"x", w.name}, network_.input.dims);
    for (std::size_t n = choices_->below(max_layers + 1); n > 0; --n) add_layer();
    add("Identity", {values_.back().name}, values_.back().dims, {}, "", "y");
    network_.output = values_.back();
    ValueDef y = tensor_value("y", DType::float32, {});
    y.type.dims->resize(network_.output.dims.size());
    graph().outputs = {y};
    return std::move(network_);
  }

 private:
  GraphDef& graph() { return network_.model.graph; }
  const NetworkValue& last() const { return values_.back(); }
  // Mostly the last one.
  const NetworkValue& any() const {
    return choices_->once_in(4) ? values_[choices_->below(values_.size())] : last();
  }

  NetworkValue weight(const Dims& dims) {
    NetworkValue w{"w" + std::to_string(network_.weights.size()), dims};
    graph().initializers.push_back({w.name, spread_floats(*choices_, shape_of(dims)), "", {}});
    network_.weights.push_back(w);
    return w;
  }

  std::string constant(Tensor value) {
    const std::string name = "c" + std::to_string(graph().initializers.size());
    graph().initializers.push_back({name, std::move(value), "", {}});
    return name;
  }
  std::string integers(const std::vector<std::int64_t>& values) {
    return constant(Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
  }

  void add(const std::string& op, std::vector<std::string> inputs, Dims dims,
           Attributes attributes = {}, const std::string& domain = {}, std::string name = {}) {
    if (name.empty()) name = "v" + std::to_string(values_.size());
    graph().nodes.push_back(node(op, std::move(inputs), {name}, std::move(attributes), domain));
    values_.push_back({name, std::move(dims)});
  }

  void add_layer() {
    const NetworkValue x = any();
    switch (choices_->below(8)) {
      case 0:
      case 1:
        return add_unary(x);
      case 2:
        return add_binary(x);
      case 3:
        return add_product(x);
      case 4:
        return add_along_last_axis(x);
      case 5:
        return x.dims.size() == 4 ? add_window(x) : add_product(x);
      case 6:
        return add_movement(x);
      default:
        return add_choice(x);
    }
  }

  void add_unary(const NetworkValue& x) {
    static const std::vector<std::string> ops{
        "Relu",      "Tanh",        "Sigmoid", "Neg",       "Softplus", "Elu",
        "LeakyRelu", "HardSigmoid", "Abs",     "Erf",       "Sin",      "Softsign",
        "Selu",      "Exp",         "Cos",     "HardSwish", "Celu",     "Identity"};
    const std::string& op = choices_->pick(ops);
    if (choices_->once_in(6)) {
      Attributes by;
      if (choices_->once_in(2)) by.emplace_back("by", 1.5F);
      return add("ScaledTanh", {x.name}, x.dims, by, "local");
    }
    add(op, {x.name}, x.dims);
  }

  void add_binary(const NetworkValue& x) {
    static const std::vector<std::string> ops{"Add", "Sub", "Mul", "Max", "Min"};
    const std::string& op = choices_->pick(ops);
    for (const NetworkValue& other : values_) {
      if (other.name != x.name && other.dims == x.dims && choices_->once_in(2)) {
        return add(op, {x.name, other.name}, x.dims);
      }
    }
    const std::vector<Dims> shapes{{x.dims.back()}, {1}, x.dims, {}};
    const NetworkValue w = weight(choices_->pick(shapes));
    if (choices_->once_in(3)) return add(op, {w.name, x.name}, x.dims);
    add(op, {x.name, w.name}, x.dims);
  }

  void add_product(const NetworkValue& x) {
    if (x.dims.size() < 2) return add_unary(x);
    const auto columns = static_cast<std::int64_t>(1 + choices_->below(4));
    const std::int64_t rows = x.dims.back();
    Dims dims = x.dims;
    dims.back() = columns;
    if (x.dims.size() != 2 || choices_->once_in(2)) {
      const NetworkValue w = weight({rows, columns});
      return add("MatMul", {x.name, w.name}, dims);
    }
    const bool turned = choices_->once_in(2);
    const NetworkValue w = weight(turned ? Dims{columns, rows} : Dims{rows, columns});
    const NetworkValue b = weight({columns});
    add("Gemm", {x.name, w.name, b.name}, dims,
        {{"transB", std::int64_t{turned}}, {"alpha", choices_->once_in(2) ? 0.5F : 1.0F}});
  }

  void add_along_last_axis(const NetworkValue& x) {
    const Attribute axis("axis", std::int64_t{-1});
    switch (choices_->below(5)) {
      case 0:
        return add("Softmax", {x.name}, x.dims, {axis});
      case 1:
        return add("LogSoftmax", {x.name}, x.dims, {axis});
      case 2: {
        const NetworkValue scale = weight({x.dims.back()});
        const NetworkValue bias = weight({x.dims.back()});
        return add("LayerNormalization", {x.name, scale.name, bias.name}, x.dims, {axis});
      }
      case 3: {
        Dims dims = x.dims;
        dims.back() = 1;
        static const std::vector<std::string> ops{"ReduceMean", "ReduceL2", "ReduceLogSumExp",
                                                  "ReduceMax"};
        return add(choices_->pick(ops), {x.name}, dims, {{"axes", std::vector<std::int64_t>{-1}}});
      }
      default:
        return add("CumSum", {x.name, constant(Tensor::scalar(std::int64_t{-1}))}, x.dims,
                   {{"reverse", std::int64_t{choices_->once_in(2)}}});
    }
  }

  void add_window(const NetworkValue& x) {
    const std::vector<std::int64_t> two{2, 2};
    Dims dims = x.dims;
    if (choices_->once_in(2) || dims[2] < 2 || dims[3] < 2) {
      const NetworkValue w =
          weight({static_cast<std::int64_t>(1 + choices_->below(3)), dims[1], 3, 3});
      dims[1] = w.dims[0];
      return add("Conv", {x.name, w.name}, dims, {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
    }
    --dims[2], --dims[3];
    add(choices_->once_in(2) ? "MaxPool" : "AveragePool", {x.name}, dims, {{"kernel_shape", two}});
  }

  void add_movement(const NetworkValue& x) {
    Dims dims = x.dims;
    const Attribute axis("axis", std::int64_t{-1});
    switch (choices_->below(5)) {
      case 0: {
        std::reverse(dims.begin(), dims.end());
        return add("Transpose", {x.name}, dims);
      }
      case 1:
        dims = {x.dims[0], shape_of(x.dims).size() / std::max<std::int64_t>(x.dims[0], 1)};
        return add("Reshape", {x.name, integers({dims[0], -1})}, dims);
      case 2:
        dims.back() *= 2;
        return add("Concat", {x.name, x.name}, dims, {axis});
      case 3:
        dims.back() = (dims.back() + 1) / 2;
        return add("Slice", {x.name, integers({0}), integers({dims.back()}), integers({-1})}, dims);
      default:
        dims.back() = 2;
        return add("Gather", {x.name, integers({0, -1})}, dims, {axis});
    }
  }

  // One of two values: by element, or of the whole tensor.
  void add_choice(const NetworkValue& x) {
    const std::string number = std::to_string(values_.size());
    if (choices_->once_in(2)) {
      const NetworkValue w = weight({x.dims.back()});
      graph().nodes.push_back(node("Greater", {x.name, w.name}, {"g" + number}));
      return add("Where", {"g" + number, x.name, w.name}, x.dims);
    }
    const auto branch = [&](const std::string& op) {
      GraphDef body;
      body.name = op + number;
      body.nodes = {node(op, {x.name}, {op + number})};
      ValueDef output = tensor_value(op + number, DType::float32, {});
      output.type.dims->resize(x.dims.size());
      body.outputs = {output};
      return std::make_shared<const GraphDef>(std::move(body));
    };
    graph().inputs.push_back(tensor_value("which" + number, DType::boolean, {}));
    add("If", {"which" + number}, x.dims,
        {{"then_branch", branch("Tanh")}, {"else_branch", branch("Neg")}});
  }

  Choices* choices_;
  Network network_;
  std::vector<NetworkValue> values_;
};

}  // namespace

Tensor spread_floats(Choices& choices, const Shape& shape) {
  Tensor tensor(DType::float32, shape);
  const RandomKey key{choices.byte(), 0, 0};
  auto* to = static_cast<float*>(tensor.mutable_data());
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    to[i] = static_cast<float>(2 * uniform_at(key, static_cast<std::uint64_t>(i)) - 1);
  }
  return tensor;
}

Network any_network(Choices& choices, std::size_t max_layers) {
  return NetworkWriter(choices).write(max_layers);
}

}  // namespace ondine::test
