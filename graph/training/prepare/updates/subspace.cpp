#include "graph/training/prepare/updates/subspace.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <utility>

#include "core/filled_tensor.h"
#include "graph/training/prepare/losses/pieces.h"

namespace ondine::graph {
namespace {

constexpr int power_iterations = 3;
constexpr double least_length = 1e-30;

// Column j of the discrete cosine transform of that size, which are orthonormal.
Tensor cosines(DType dtype, std::int64_t size, std::int64_t rank) {
  return filled_tensor({size, rank}, dtype, [&](std::size_t at) {
    const auto i = static_cast<double>(at / static_cast<std::size_t>(rank));
    const auto j = static_cast<double>(at % static_cast<std::size_t>(rank));
    const auto n = static_cast<double>(size);
    return std::sqrt((j == 0 ? 1 : 2) / n) * std::cos(std::numbers::pi * (i + 0.5) * j / n);
  });
}

std::string norm_of(GraphWriter& graph, const std::string& value, const std::string& hint) {
  const std::string sum =
      graph.node("ReduceSumSquare", {value}, hint + ".square", {{"keepdims", std::int64_t{0}}});
  return graph.node("Sqrt", {sum}, hint);
}

}  // namespace

Subspace::Subspace(StepWriter& writer, const ParameterStep& step, std::int64_t rank,
                   std::int64_t every)
    : writer_(&writer),
      step_(&step),
      rank_(rank),
      every_(every),
      is_tall_(step.shape()[0] > step.shape()[1]),
      size_(std::min(step.shape()[0], step.shape()[1])) {
  require_opset(writer.writer(), 11, "optimizers of low rank");
}

Shape Subspace::shape() const {
  const Shape& shape = step_->shape();
  return is_tall_ ? Shape{shape[0], rank_} : Shape{rank_, shape[1]};
}

// The gradient is read by a branch that runs in few steps.
void Subspace::choose(const Tensor& initial,
                      const std::function<std::string(GraphWriter&)>& write) {
  GraphWriter& graph = writer_->writer();
  name_ = writer_->state(step_->parameter->name + ".basis", initial);
  const auto branch = [&](const std::function<std::string(GraphWriter&)>& fill) {
    auto body = std::make_shared<GraphDef>();
    body->name = graph.names().fresh(name_ + ".branch");
    GraphWriter inner(*body, graph.names(), graph.opset());
    inner.output(fill(inner), initial);
    return std::shared_ptr<const GraphDef>(std::move(body));
  };
  const auto keep = [&](GraphWriter& inner) {
    return inner.node("Identity", {name_}, name_ + ".kept");
  };
  current_ = graph.node("If", {is_due()}, writer_->next_hint(name_),
                        {{"then_branch", branch(write)}, {"else_branch", branch(keep)}});
  writer_->bind(name_, current_, initial);
}

const std::string& Subspace::is_due() {
  return writer_
      ->once({"subspace.due"},
             [&] {
               GraphWriter& graph = writer_->writer();
               const std::string one = integer(graph, "basis.one", 1);
               const std::string every = integer(graph, "basis.every", every_);
               const std::string done = writer_->sub(writer_->next_step, one, "basis.steps");
               const std::string times = writer_->div(done, every, "basis.times");
               const std::string rest =
                   writer_->sub(done, writer_->mul(times, every, "basis.last"), "basis.rest");
               return graph.node("Equal", {rest, integer(graph, "basis.zero", 0)}, "basis.due");
             })
      .name;
}

void Subspace::follow_gradient() {
  choose(cosines(step_->dtype, size_, rank_), [&](GraphWriter& inner) {
    std::string p = name_;
    for (int i = 0; i < power_iterations; ++i) p = iterate(inner, p);
    return p;
  });
}

void Subspace::draw() {
  choose(Tensor(step_->dtype, {size_, rank_}), [&](GraphWriter& inner) {
    const double deviation = 1 / std::sqrt(static_cast<double>(rank_));
    return inner.node("RandomNormal", {}, name_ + ".drawn",
                      {{"shape", std::vector<std::int64_t>{size_, rank_}},
                       {"dtype", static_cast<std::int64_t>(step_->dtype)},
                       {"mean", 0.0F},
                       {"scale", static_cast<float>(deviation)}});
  });
}

// a^T b or a b^T.
std::string Subspace::turned(GraphWriter& graph, const std::string& a, const std::string& b,
                             const char* which, const std::string& hint) {
  return graph.node("Gemm", {a, b}, hint, {{which, std::int64_t{1}}});
}

std::string Subspace::seen(GraphWriter& graph, const std::string& g, const std::string& p,
                           const std::string& hint) {
  return is_tall_ ? graph.node("MatMul", {g, p}, hint) : turned(graph, g, p, "transA", hint);
}

// One step of power iteration. The product is scaled, so that small gradients do not underflow.
std::string Subspace::iterate(GraphWriter& graph, const std::string& p) {
  const std::string least = writer_->number("norm.least", least_length, step_->dtype);
  const std::string z = seen(graph, step_->g, p, name_ + ".product");
  const std::string norm =
      graph.node("Max", {norm_of(graph, z, name_ + ".norm"), least}, name_ + ".divisor");
  const std::string scaled = graph.node("Div", {z, norm}, name_ + ".scaled");
  const std::string y = is_tall_ ? turned(graph, step_->g, scaled, "transA", name_ + ".image")
                                 : graph.node("MatMul", {step_->g, scaled}, name_ + ".image");
  return orthonormal(graph, y);
}

// Gram and Schmidt, twice for each column.
std::string Subspace::orthonormal(GraphWriter& graph, const std::string& y) {
  auto body = std::make_shared<GraphDef>();
  body->name = graph.names().fresh(name_ + ".columns");
  GraphWriter inner(*body, graph.names(), graph.opset());
  const auto input = [&](const char* hint, DType dtype, std::vector<DimDef> dims) {
    ValueDef value;
    value.name = graph.names().fresh(name_ + hint);
    value.type = tensor_type(dtype, std::move(dims));
    body->inputs.push_back(value);
    return value.name;
  };
  const std::string number = input(".column", DType::int64, {});
  const std::string goes_on = input(".more", DType::boolean, {});
  const std::string q = input(".columns", step_->dtype, {size_, rank_});
  const std::string v = column(inner, y, number, q);
  Tensor numbers(DType::int64, {1, rank_});
  for (std::int64_t j = 0; j < rank_; ++j) {
    numbers.mutable_values<std::int64_t>()[static_cast<std::size_t>(j)] = j;
  }
  const std::string all = inner.initializer(name_ + ".numbers", numbers);
  const std::string here = inner.cast(inner.node("Equal", {all, number}, name_ + ".is_column"),
                                      step_->dtype, name_ + ".place");
  const std::string placed = inner.node("Mul", {v, here}, name_ + ".placed");
  const std::string next = inner.node("Add", {q, placed}, name_ + ".columns_next");
  inner.output(inner.node("Identity", {goes_on}, name_ + ".go_on"), DType::boolean,
               std::vector<DimDef>{});
  inner.output(next, step_->dtype, std::vector<DimDef>{size_, rank_});
  const std::string count = integer(graph, name_ + ".count", rank_);
  const std::string always = graph.initializer(name_ + ".always", Tensor::scalar(true));
  const std::string none =
      graph.node("ConstantOfShape", {integers(graph, name_ + ".shape", {size_, rank_})},
                 name_ + ".no_columns", {{"value", Tensor(step_->dtype, {1})}});
  return graph.node("Loop", {count, always, none}, name_ + ".orthonormal",
                    {{"body", std::shared_ptr<const GraphDef>(std::move(body))}});
}

// Column `number` of y without its parts along q, of length 1.
std::string Subspace::column(GraphWriter& body, const std::string& y, const std::string& number,
                             const std::string& q) {
  const std::string flat =
      body.node("Gather", {y, number}, name_ + ".vector", {{"axis", std::int64_t{1}}});
  std::string v = body.node("Reshape", {flat, integers(body, name_ + ".column_shape", {size_, 1})},
                            name_ + ".vector");
  for (int i = 0; i < 2; ++i) {
    const std::string parts = turned(body, q, v, "transA", name_ + ".parts");
    v = body.node("Sub", {v, body.node("MatMul", {q, parts}, name_ + ".along")}, name_ + ".across");
  }
  const std::string norm = body.node("Max",
                                     {norm_of(body, v, name_ + ".length"),
                                      writer_->number("norm.least", least_length, step_->dtype)},
                                     name_ + ".length_divisor");
  return body.node("Div", {v, norm}, name_ + ".unit");
}

std::string Subspace::inside(const std::string& g, const std::string& hint) {
  GraphWriter& graph = writer_->writer();
  return is_tall_ ? graph.node("MatMul", {g, current_}, hint)
                  : turned(graph, current_, g, "transA", hint);
}

std::string Subspace::outside(const std::string& r, const std::string& hint) {
  GraphWriter& graph = writer_->writer();
  return is_tall_ ? turned(graph, r, current_, "transB", hint)
                  : graph.node("MatMul", {current_, r}, hint);
}

}  // namespace ondine::graph
