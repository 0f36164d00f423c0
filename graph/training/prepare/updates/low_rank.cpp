// GaLore (Zhao et al. 2024, Memory-Efficient LLM Training by Gradient Low-Rank Projection): with p
// of orthonormal columns and r = p^T g, x <- x - rate (scale p adam(r) + decay x).
// APOLLO (Zhu et al. 2024, SGD-like Memory, AdamW-level Performance): p is random; each column j of
// the gradient is scaled, d_j = g_j |adam(r)_j| / |r_j|, where the norm of d grows by 1 % in a step
// at most: x <- x - rate (scale d + decay x).
#include "graph/training/prepare/updates/low_rank.h"

#include <algorithm>

#include "graph/training/prepare/losses/pieces.h"
#include "graph/training/prepare/updates/rules.h"
#include "graph/training/prepare/updates/subspace.h"

namespace ondine::graph {
namespace {

constexpr double growth = 1.01;
constexpr double smallest_norm = 1e-8;
constexpr float epsilon = 1e-8F;

// The direction of Adam for r, with states of its shape.
template <class Settings>
std::string write_direction(StepWriter& writer, const ParameterStep& step, const Settings& settings,
                            const Shape& shape, const std::string& r) {
  const Tensor zeros(step.dtype, shape);
  const std::string& name = step.parameter->name;
  const std::string m = writer.state(name + ".mean", zeros);
  const std::string v = writer.state(name + ".squares", zeros);
  const std::string m_next = writer.blend(m, r, settings.beta1, step.dtype, writer.next_hint(m));
  const std::string square = writer.mul(r, r, step.x + ".gradient_square");
  const std::string v_next =
      writer.blend(v, square, settings.beta2, step.dtype, writer.next_hint(v));
  writer.bind(m, m_next, zeros);
  writer.bind(v, v_next, zeros);
  return writer.adam_direction(step, m_next, v_next, settings.beta2, epsilon);
}

// x - rate factor d - rate decay x
std::string write_change(StepWriter& writer, const ParameterStep& step, const std::string& d,
                         const std::string& factor) {
  const std::string& x = step.x;
  const std::string change = writer.mul(d, factor, x + ".change");
  const bool decays = step.decay != 0;
  const std::string stepped = writer.sub(x, change, decays ? x + ".undecayed" : step.next);
  return decays ? writer.decayed(step, stepped, x) : stepped;
}

ScalarValue& write_rate(StepWriter& writer, const ParameterStep& step, float scale, float beta1) {
  return writer.once({"low_rank.rate", 0, step.rate}, [&] {
    const std::string& factor =
        writer.number("step.scale", static_cast<double>(scale), DType::float32);
    const std::string scaled = writer.mul(step.rate->name, factor, "rate.scaled");
    return writer.div(scaled, writer.correction(beta1).name, "rate.step");
  });
}

// The factor by which the norm of d grows by 1 % at most; the first step has any norm.
std::string write_limit(StepWriter& writer, const ParameterStep& step, const std::string& d) {
  GraphWriter& graph = writer.writer();
  const DType dtype = step.dtype;
  const std::string& x = step.x;
  // With one dim, since a scalar output would be taken for a metric.
  const Tensor none(dtype, Shape{1});
  const std::string last = writer.state(step.parameter->name + ".norm", none);
  const std::string squares =
      graph.node("ReduceSumSquare", {d}, x + ".direction_square", {{"keepdims", std::int64_t{0}}});
  const std::string norm = graph.node(
      "Reshape",
      {writer.apply("Sqrt", squares, x + ".direction_root"), integers(graph, x + ".one_dim", {1})},
      x + ".direction_norm");
  const std::string has_last =
      graph.node("Greater", {last, writer.number("zero", 0, dtype)}, last + ".is_known");
  const std::string most = writer.mul(last, writer.number("growth", growth, dtype), last + ".most");
  const std::string bound = graph.node("Where", {has_last, most, norm}, last + ".bound");
  const std::string kept = graph.node("Min", {norm, bound}, writer.next_hint(last));
  writer.bind(last, kept, none);
  const std::string divisor = graph.node(
      "Max", {norm, writer.number("norm.smallest", smallest_norm, dtype)}, x + ".norm_divisor");
  return writer.div(kept, divisor, x + ".limit");
}

}  // namespace

bool has_low_rank(const Shape& shape, std::int64_t rank) {
  return shape.rank() == 2 && std::min(shape[0], shape[1]) > rank;
}

std::string write_galore(StepWriter& writer, const ParameterStep& step, const GaLore& settings) {
  Subspace space(writer, step, settings.rank, settings.every);
  space.follow_gradient();
  const std::string r = space.inside(step.g, step.x + ".inside");
  const std::string inner = write_direction(writer, step, settings, space.shape(), r);
  const std::string d = space.outside(inner, step.x + ".direction");
  ScalarValue& rate = write_rate(writer, step, settings.scale, settings.beta1);
  return write_change(writer, step, d, rate.as(writer.writer(), step.dtype));
}

std::string write_apollo(StepWriter& writer, const ParameterStep& step, const Apollo& settings) {
  GraphWriter& graph = writer.writer();
  const DType dtype = step.dtype;
  const std::string& x = step.x;
  Subspace space(writer, step, settings.rank, settings.every);
  space.draw();
  const std::string r = space.inside(step.g, x + ".inside");
  const std::string raw = write_direction(writer, step, settings, space.shape(), r);
  const std::string inner =
      writer.div(raw, writer.correction(settings.beta1).as(graph, dtype), x + ".inner_direction");
  const std::int64_t axis = space.is_tall() ? 1 : 0;
  const std::string wanted = reduce(graph, "ReduceL2", inner, {axis}, true, x + ".wanted_size");
  const std::string found = reduce(graph, "ReduceL2", r, {axis}, true, x + ".found_size");
  const std::string divisor =
      writer.add(found, writer.number("norm.smallest", smallest_norm, dtype), x + ".size_divisor");
  const std::string d =
      writer.mul(step.g, writer.div(wanted, divisor, x + ".scales"), x + ".direction");
  const std::string limit = write_limit(writer, step, d);
  ScalarValue& rate = writer.once({"apollo.rate", 0, step.rate}, [&] {
    const std::string& factor =
        writer.number("step.scale", static_cast<double>(settings.scale), DType::float32);
    return writer.mul(step.rate->name, factor, "rate.scaled");
  });
  return write_change(writer, step, d, writer.mul(limit, rate.as(graph, dtype), x + ".rate"));
}

}  // namespace ondine::graph
