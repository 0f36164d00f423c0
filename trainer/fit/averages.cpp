#include "trainer/fit/averages.h"

#include <ondine/metadata.h>

#include "core/float_formats.h"
#include "core/message.h"
#include "core/out_of_memory.h"
#include "graph/record/training_entries.h"

namespace ondine::fit {
namespace {

std::vector<std::string> lines_of(const Model& model, std::string_view property) {
  std::vector<std::string> lines;
  const std::string text = metadata_of(model, property);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

struct Averaged {
  std::vector<std::string> parameters;
  std::vector<std::string> averages;
};

Averaged find_averages(const Model& model) {
  Averaged found{lines_of(model, graph::entry::averaged), lines_of(model, graph::entry::averages)};
  if (found.parameters.empty() || found.parameters.size() != found.averages.size()) {
    fail(ErrorCode::mismatch,
         "the model keeps no averages of its parameters; prepare it with --ema or --swa");
  }
  return found;
}

template <class Half, class Round>
Tensor rounded(const Tensor& from, DType to, Round round) {
  Tensor result(to, from.shape());
  const auto in = from.values<float>();
  auto out = result.mutable_values<Half>();
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = round(in[i]);
  return result;
}

// The average of a parameter of half precision is a float.
Tensor converted(const Tensor& from, DType to) {
  if (from.dtype() == DType::float32 && to == DType::float16) {
    return rounded<float16>(from, to, [](float x) { return to_float16(x); });
  }
  if (from.dtype() == DType::float32 && to == DType::bfloat16) {
    return rounded<bfloat16>(from, to, [](float x) { return to_bfloat16(x); });
  }
  return from;
}

NamedValues averages_of(const Model& model) {
  const Averaged found = find_averages(model);
  NamedValues values;
  for (std::size_t i = 0; i < found.parameters.size(); ++i) {
    const DType dtype = model.get_state(found.parameters[i]).dtype();
    values.emplace_back(found.parameters[i], converted(model.get_state(found.averages[i]), dtype));
  }
  return values;
}

}  // namespace

void require_averages(const Model& model) { find_averages(model); }

AveragedWeights::AveragedWeights(Model& model, bool use) : model_(model) {
  if (!use) return;
  NamedValues averages = averages_of(model);
  NamedValues trained;
  for (const auto& [name, value] : averages) trained.emplace_back(name, model.get_state(name));
  model.set_state(averages);
  trained_ = std::move(trained);
}

void AveragedWeights::put_back() {
  if (trained_.empty()) return;
  model_.set_state(trained_);
  trained_.clear();
}

AveragedWeights::~AveragedWeights() {
  try {
    put_back();
  } catch (const std::exception&) {
    // The exception that is under way says more.
  }
}

}  // namespace ondine::fit

namespace ondine {

void take_averages(Model& model) {
  guard_memory("take averages of parameters", [&] { model.set_state(fit::averages_of(model)); });
}

}  // namespace ondine
