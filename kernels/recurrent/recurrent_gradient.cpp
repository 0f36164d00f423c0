#include "kernels/recurrent/recurrent_gradient.h"

#include <array>

namespace ondine::kernels {

using namespace graph;  // NOLINT

namespace {

using In = RecurrentInput;
using GradIn = RecurrentGradInput;

// The inputs that have derivatives, in the order of RecurrentGradOutput.
constexpr std::array<std::size_t, RecurrentGradOutput::count> differentiated_inputs{
    In::x, In::w, In::r, In::b, In::initial_h, In::initial_c, In::p};

// Whether position i of a derivative's node is an operand by which it is differentiated again.
bool differentiated_again(std::size_t i) {
  return i != In::sequence_lens && i != GradIn::y && i != GradIn::gates && i != GradIn::cells;
}

// The node whose derivative `g` differentiates.
Node forward_node(const GradContext& g) {
  Node node;
  const std::string_view name = g.node().op->name;
  node.op = g.builder().catalogue().find("", name.substr(0, name.size() - 4));  // without Grad
  node.version = Builder::latest_version;
  node.attributes = g.node().attributes;
  const auto& inputs = g.node().inputs;
  node.inputs.assign(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                          std::size_t{In::count}, inputs.size())));
  return node;
}

}  // namespace

std::vector<Val> recurrent_gradient(GradContext& g, const CellTraits& cell) {
  const RecurrentOutput out(cell);
  std::array<Val, GradIn::count> operands;
  for (std::size_t i = 0; i < In::count; ++i) operands[i] = g.x(i);
  operands[GradIn::y] = g.y(out.y);
  operands[GradIn::gates] = g.y(out.gates);
  operands[GradIn::dy] = g.dy(out.y);
  operands[GradIn::dy_h] = g.dy(out.y_h);
  if (cell.cell_state) {
    operands[GradIn::cells] = g.y(out.cells);
    operands[GradIn::dy_c] = g.dy(out.y_c);
  }
  if (!operands[GradIn::dy] && !operands[GradIn::dy_h] && !operands[GradIn::dy_c]) {
    fail(ErrorCode::unsupported, "what ", g.node().op->name,
         " keeps for its derivative is not differentiated itself");
  }
  Builder& b = g.builder();
  Node node;
  node.op = b.catalogue().find(ondine_domain, cat(g.node().op->name, "Grad"));
  node.version = Builder::latest_version;
  node.attributes = g.node().attributes;
  for (const Val operand : operands) node.inputs.push_back(operand.id());
  while (node.inputs.back() == no_value) node.inputs.pop_back();
  std::vector<Val> result(In::count);
  for (const std::size_t i : differentiated_inputs) {
    node.outputs.push_back(no_value);
    if (!g.has_input(i) || !g.wants(i)) continue;
    node.outputs.back() = b.graph().add_temporary(std::string(node.op->name));
    result[i] = b.value(node.outputs.back());
  }
  b.append(std::move(node));
  return result;
}

std::vector<Val> recurrent_second_gradient(GradContext& g, const CellTraits& cell,
                                           UnrolledStep step) {
  Builder& b = g.builder();
  const Node forward = forward_node(g);
  ExpandContext context(b, forward);
  const std::vector<Val> ys = unroll(context, cell, step);
  std::vector<Val> dys;
  for (std::size_t k = 0; k < ys.size(); ++k) dys.push_back(g.x(GradIn::dy + k));
  std::vector<Val> xs, seeds;
  for (std::size_t k = 0; k < differentiated_inputs.size(); ++k) {
    const std::size_t i = differentiated_inputs[k];
    if (!g.has_input(i)) continue;
    xs.push_back(g.x(i));
    seeds.push_back(g.dy(k));
  }
  const auto first = g.differentiate()(b, ys, dys, xs);
  std::vector<Val> outputs, weights;
  for (std::size_t k = 0; k < first.size(); ++k) {
    if (!first[k] || !seeds[k]) continue;
    outputs.push_back(first[k]);
    weights.push_back(seeds[k]);
  }
  std::vector<std::size_t> positions;
  std::vector<Val> by;
  for (std::size_t i = 0; i < g.input_count(); ++i) {
    if (!differentiated_again(i) || !g.has_input(i) || !g.wants(i)) continue;
    positions.push_back(i);
    by.push_back(g.x(i));
  }
  const auto second = g.differentiate()(b, outputs, weights, by);
  std::vector<Val> result(g.input_count());
  for (std::size_t k = 0; k < positions.size(); ++k) result[positions[k]] = second[k];
  return result;
}

}  // namespace ondine::kernels
