#include "graph/training/preprocess/raw_input.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "core/message.h"
#include "graph/training/prepare/parameters/parameters.h"
#include "graph/training/prepare/renaming.h"

namespace ondine::graph {
namespace {

std::string text_of(const DimDef& dim) {
  if (const auto* size = std::get_if<std::int64_t>(&dim)) return std::to_string(*size);
  const auto* name = std::get_if<DimName>(&dim);
  return name == nullptr ? "?" : std::string(*name);
}

}  // namespace

std::string describe_input(const ValueDef& input) {
  std::string text = cat(quoted(input.name), " ", input.type.dtype);
  if (!input.type.dims) return text;
  std::string dims;
  for (const DimDef& dim : *input.type.dims) dims += (dims.empty() ? "" : ", ") + text_of(dim);
  return text + "[" + dims + "]";
}

std::optional<std::int64_t> size_of_dim(const ValueDef& input, std::size_t axis) {
  if (!input.type.dims || axis >= input.type.dims->size()) return {};
  const auto* size = std::get_if<std::int64_t>(&(*input.type.dims)[axis]);
  return size == nullptr ? std::nullopt : std::optional(*size);
}

bool is_image_input(const ValueDef& input) {
  return input.type.dims && input.type.dims->size() == 4;
}

ValueDef& find_raw_input(GraphDef& graph, const std::string& name) {
  std::vector<ValueDef*> found;
  std::string all;
  for (ValueDef& input : graph.inputs) {
    if (find_initializer(graph, input.name) != nullptr) continue;
    all += (all.empty() ? "" : ", ") + describe_input(input);
    const bool fits = input.type.kind == TypeKind::tensor && is_differentiable(input.type.dtype);
    if (fits && (name.empty() || input.name == name)) found.push_back(&input);
  }
  if (name.empty() && std::count_if(found.begin(), found.end(),
                                    [](const auto* one) { return is_image_input(*one); }) == 1) {
    std::erase_if(found, [](const auto* one) { return !is_image_input(*one); });
  }
  if (found.size() == 1) return *found[0];
  fail(ErrorCode::mismatch, "preprocessing needs ",
       name.empty() ? "the name of an input of floating point numbers"
                    : "an input " + quoted(name) + " of floating point numbers",
       "; the model has: ", all.empty() ? "none" : all);
}

void require_no_output(const GraphDef& graph, const ValueDef& input) {
  for (const ValueDef& output : graph.outputs) {
    if (output.name != input.name) continue;
    fail(ErrorCode::unsupported, "input ", quoted(input.name),
         " is an output as well, which cannot be both raw and preprocessed");
  }
}

void put_in_front(GraphDef& graph, GraphDef front, const std::string& given,
                  const std::string& result, ValueDef inner) {
  const Renaming names{{given, result}};
  for (NodeDef& node : graph.nodes) rename_reads(node, names);
  std::erase_if(graph.value_infos, [&](const ValueDef& one) { return one.name == given; });
  for (QuantizationDef& one : graph.quantization) one.tensor = renamed(names, one.tensor);
  inner.name = result;
  graph.value_infos.push_back(std::move(inner));
  graph.nodes.insert(graph.nodes.begin(), std::make_move_iterator(front.nodes.begin()),
                     std::make_move_iterator(front.nodes.end()));
  std::move(front.initializers.begin(), front.initializers.end(),
            std::back_inserter(graph.initializers));
}

}  // namespace ondine::graph
