// Malladi et al. 2023, Fine-Tuning Language Models with Just Forward Passes (MeZO): with z of
// normal numbers, the gradient is taken to be g = z (loss(x + e z) - loss(x - e z)) / (2 e), of all
// parameters together: x <- x - rate (g + decay x).
#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include "core/message.h"
#include "graph/training/prepare/updates/directions.h"
#include "graph/training/prepare/updates/rules.h"

namespace ondine::graph {

Points write_directions(GraphWriter& writer, const std::vector<const InitializerDef*>& trained,
                        const Mezo& settings) {
  Points points;
  for (const InitializerDef* one : trained) {
    const DType dtype = one->value.dtype();
    const Shape& shape = one->value.shape();
    if (is_low_precision(dtype)) {
      fail(ErrorCode::unsupported, "forward-only training of ", dtype, " parameters, such as ",
           quoted(one->name), "; choose adamw");
    }
    const std::string way =
        writer.node("RandomNormal", {}, one->name + ".way",
                    {{"shape", std::vector<std::int64_t>(shape.begin(), shape.end())},
                     {"dtype", static_cast<std::int64_t>(dtype)},
                     {"scale", settings.distance}});
    const std::string point = writer.node("Add", {one->name, way}, one->name + ".point");
    points.offsets.emplace(one->name, way);
    points.values.emplace(one->name, point);
    points.opposites.emplace(point, writer.node("Sub", {one->name, way}, one->name + ".opposite"));
  }
  points.nodes = writer.graph().nodes.size();
  return points;
}

std::vector<std::string> write_slopes(GraphWriter& writer, const LossValues& loss,
                                      const std::vector<const InitializerDef*>& trained,
                                      const Mezo& settings, const Points& points) {
  // The loss once more, at the opposite points.
  Renaming names = points.opposites;
  const std::vector<NodeDef> nodes(
      writer.graph().nodes.begin() + static_cast<std::ptrdiff_t>(points.nodes),
      writer.graph().nodes.end());
  for (const NodeDef& node : nodes) {
    const std::vector<std::string> reads = reads_of(node);
    const bool is_affected = std::any_of(reads.begin(), reads.end(),
                                         [&](const auto& name) { return names.contains(name); });
    if (is_affected) {
      writer.graph().nodes.push_back(renamed_copy(node, "opposite.", writer.names(), names));
    }
  }
  const std::string difference =
      writer.node("Sub", {loss.loss, renamed(names, loss.loss)}, "slope.difference");
  // Ways are e z.
  const double distance{settings.distance};
  const std::string width = writer.scalar("slope.width", 2 * distance * distance, loss.dtype);
  const std::string slope = writer.node("Div", {difference, width}, "slope");
  std::map<DType, std::string> slopes{{loss.dtype, slope}};
  std::vector<std::string> gradients;
  for (const InitializerDef* one : trained) {
    const DType dtype = one->value.dtype();
    std::string& typed = slopes[dtype];
    if (typed.empty()) typed = writer.cast(slope, dtype, "slope.cast");
    gradients.push_back(
        writer.node("Mul", {points.offsets.at(one->name), typed}, one->name + ".gradient"));
  }
  return gradients;
}

void move_to_readers(GraphDef& graph, std::size_t count) {
  if (count == 0) return;
  std::vector<NodeDef> first(
      std::make_move_iterator(graph.nodes.begin()),
      std::make_move_iterator(graph.nodes.begin() + static_cast<std::ptrdiff_t>(count)));
  std::map<std::string, std::size_t> makers;  // of values that are not placed yet
  for (std::size_t i = 0; i < count; ++i) {
    for (const std::string& output : first[i].outputs) makers.emplace(output, i);
  }
  std::vector<NodeDef> placed;
  const std::function<void(const NodeDef&)> place_makers = [&](const NodeDef& node) {
    for (const std::string& read : reads_of(node)) {
      const auto maker = makers.find(read);
      if (maker == makers.end()) continue;
      NodeDef made = std::move(first[maker->second]);
      for (const std::string& output : made.outputs) makers.erase(output);
      place_makers(made);
      placed.push_back(std::move(made));
    }
  };
  for (std::size_t i = count; i < graph.nodes.size(); ++i) {
    place_makers(graph.nodes[i]);
    placed.push_back(std::move(graph.nodes[i]));
  }
  for (NodeDef& node : first) {
    if (!node.outputs.empty() && makers.contains(node.outputs[0]))
      placed.push_back(std::move(node));
  }
  graph.nodes = std::move(placed);
}

}  // namespace ondine::graph
