#include "graph/training/prepare/prediction/batch_axis.h"

#include <algorithm>
#include <optional>

#include "core/message.h"
#include "core/text/letters.h"
#include "graph/training/prepare/losses/table.h"
#include "graph/training/prepare/parameters/parameters.h"

namespace ondine::graph {
namespace {

const DimName* name_of_dim(const DimDef& dim) { return std::get_if<DimName>(&dim); }

bool calls_itself_batch(const DimDef& dim) {
  const DimName* name = name_of_dim(dim);
  if (name == nullptr) return false;
  return lower_case(*name).find("batch") != std::string::npos;
}

// The first dim of the inputs: the name that all have that name it, else the size if all have one.
std::optional<DimDef> batch_of_inputs(const GraphDef& main) {
  std::vector<DimDef> names;
  std::vector<DimDef> sizes;
  for (const ValueDef& input : main.inputs) {
    const bool has_first = input.type.dims && !input.type.dims->empty();
    if (!has_first || find_initializer(main, input.name) != nullptr) continue;
    const DimDef& first = input.type.dims->front();
    if (name_of_dim(first) != nullptr) names.push_back(first);
    if (std::holds_alternative<std::int64_t>(first)) sizes.push_back(first);
  }
  const std::vector<DimDef>& found = names.empty() ? sizes : names;
  const bool is_one = !found.empty() && std::all_of(found.begin(), found.end(), [&](auto& one) {
    return one == found.front();
  });
  return is_one ? std::optional(found.front()) : std::nullopt;
}

// The axis that holds the batch; empty where nothing tells.
std::optional<std::size_t> find_batch(const GraphDef& main, const std::vector<DimDef>& dims,
                                      bool is_sequence) {
  const auto axis_of = [&](auto is_batch) -> std::optional<std::size_t> {
    const auto found = std::find_if(dims.begin(), dims.end(), is_batch);
    if (found == dims.end()) return std::nullopt;
    return static_cast<std::size_t>(found - dims.begin());
  };
  if (is_sequence) {
    if (const auto named = axis_of(calls_itself_batch)) return named;
  }
  const std::optional<DimDef> batch = batch_of_inputs(main);
  if (!batch || (name_of_dim(*batch) == nullptr && !is_sequence)) return std::nullopt;
  return axis_of([&](const DimDef& one) { return one == *batch; });
}

std::string text_of(const DimDef& dim) {
  if (const DimName* name = name_of_dim(dim)) return quoted(*name);
  const auto* size = std::get_if<std::int64_t>(&dim);
  return size == nullptr ? "?" : std::to_string(*size);
}

}  // namespace

std::string check_batch_axis(const GraphDef& main, const std::string& what,
                             const std::vector<DimDef>& dims, Loss loss) {
  const LossTraits& traits = traits_of(loss);
  const bool is_sequence = traits.is_sequence();
  const auto axis = is_sequence ? find_batch(main, dims, true) : batch_axis(main, dims);
  if (axis.value_or(0) == 0) return {};
  if (traits.mean_of != LossMean::batch) {
    return cat("; its batch ", text_of(dims[*axis]), " is axis ", *axis, ", as in the labels then");
  }
  fail(ErrorCode::mismatch, "the batch of ", what, ", ", text_of(dims[*axis]), ", is axis ", *axis,
       " and axis 0 is ", text_of(dims.front()), "; ", traits.in_messages, " needs ",
       is_sequence ? "[batch, steps, classes]" : "the batch on axis 0",
       ": name a value that has it there as the loss output, or add a Transpose to the model");
}

std::optional<std::size_t> batch_axis(const GraphDef& main, const std::vector<DimDef>& dims) {
  const auto found = find_batch(main, dims, false);
  if (found.value_or(0) == 0) return std::nullopt;
  const DimDef& first = dims.front();
  const bool is_open =
      std::holds_alternative<std::monostate>(first) || first == DimDef(std::int64_t{1});
  return is_open ? std::nullopt : found;
}

}  // namespace ondine::graph
