// Jordan et al. 2024, Muon: an optimizer for hidden layers in neural networks, with the scale of
// Liu et al. 2025, Muon is Scalable for LLM Training, by which steps are as large as those of
// AdamW:
//   m <- momentum m + (1 - momentum) g, d = (1 - momentum) g + momentum m
//   o = d / max(|d|, 1e-7), five times: a = o o^T, o <- 3.4445 o + (-4.775 a + 2.0315 a a) o
//   x <- x - rate (0.2 sqrt(max(rows, columns)) o + decay x)
#include <algorithm>
#include <cmath>

#include "graph/training/prepare/updates/rules.h"

namespace ondine::graph {
namespace {

constexpr float first = 3.4445F;
constexpr float third = -4.775F;
constexpr float fifth = 2.0315F;
constexpr int iterations = 5;
constexpr double least_norm = 1e-7;
constexpr double usual_size = 0.2;  // of an element of AdamW's steps

// The matrix with the singular vectors of d, and singular values of about 1. Gemm transposes the
// factors where there are more rows than columns, so that the products are the smaller ones.
std::string write_orthogonal(StepWriter& writer, std::string o, bool is_tall,
                             const ParameterStep& step) {
  GraphWriter& graph = writer.writer();
  const std::string& x = step.x;
  for (int i = 0; i < iterations; ++i) {
    const std::string a =
        graph.node("Gemm", {o, o, writer.number("none", 0, step.dtype)}, x + ".products",
                   {{is_tall ? "transA" : "transB", std::int64_t{1}}, {"beta", 0.0F}});
    const std::string b =
        graph.node("Gemm", {a, a, a}, x + ".polynomial", {{"alpha", fifth}, {"beta", third}});
    const std::vector<std::string> factors =
        is_tall ? std::vector<std::string>{o, b, o} : std::vector<std::string>{b, o, o};
    o = graph.node("Gemm", factors, x + ".orthogonal", {{"beta", first}});
  }
  return o;
}

}  // namespace

std::string write_muon(StepWriter& writer, const ParameterStep& step, const Muon& settings) {
  const DType dtype = step.dtype;
  const Shape& shape = step.shape();
  const std::string& x = step.x;
  const std::int64_t rows = shape[0];
  const std::int64_t columns = static_cast<std::int64_t>(shape.size()) / rows;
  const Tensor zeros(dtype, shape);
  const std::string m = writer.state(step.parameter->name + ".momentum", zeros);
  const std::string next = writer.blend(m, step.g, settings.momentum, dtype, writer.next_hint(m));
  std::string d = writer.blend(next, step.g, settings.momentum, dtype, x + ".direction");
  writer.bind(m, next, zeros);
  const bool is_matrix = shape.rank() == 2;
  if (!is_matrix) d = writer.reshape(d, {rows, columns}, x + ".direction_matrix");
  const std::string squares = writer.writer().node("ReduceSumSquare", {d}, x + ".squares_sum",
                                                   {{"keepdims", std::int64_t{0}}});
  const std::string norm = writer.writer().node(
      "Max",
      {writer.apply("Sqrt", squares, x + ".norm"), writer.number("norm.least", least_norm, dtype)},
      x + ".norm_divisor");
  std::string o = writer.div(d, norm, x + ".normed");
  o = write_orthogonal(writer, o, rows > columns, step);
  if (!is_matrix) {
    o = writer.reshape(o, {shape.begin(), shape.end()}, x + ".orthogonal_shaped");
  }
  const double scale = usual_size * std::sqrt(static_cast<double>(std::max(rows, columns)));
  ScalarValue& factor = writer.once({"muon", scale, step.rate}, [&] {
    return writer.mul(step.rate->name, writer.number("muon.scale", scale, DType::float32),
                      "muon.rate");
  });
  const std::string change = writer.mul(o, factor.as(writer.writer(), dtype), x + ".change");
  const bool decays = step.decay != 0;
  const std::string stepped = writer.sub(x, change, decays ? x + ".undecayed" : step.next);
  return decays ? writer.decayed(step, stepped, x) : stepped;
}

}  // namespace ondine::graph
