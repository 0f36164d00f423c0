#include "kernels/contrib/fused_activation.h"

#include <algorithm>
#include <array>

#include "graph/contract/ops.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

namespace {

struct Known {
  std::string_view name;
  std::array<std::string_view, 2> parameters = {};
};

constexpr Known known[]{{"Relu"},
                        {"Sigmoid"},
                        {"Tanh"},
                        {"Softplus"},
                        {"Softsign"},
                        {"HardSwish"},
                        {"LeakyRelu", {"alpha"}},
                        {"Elu", {"alpha"}},
                        {"ThresholdedRelu", {"alpha"}},
                        {"HardSigmoid", {"alpha", "beta"}},
                        {"Selu", {"alpha", "gamma"}},
                        {"Clip", {"min", "max"}}};

const Known& find(const std::string& name) {
  const auto* found = std::find_if(std::begin(known), std::end(known),
                                   [&](const Known& k) { return k.name == name; });
  if (found == std::end(known)) {
    fail(ErrorCode::unsupported, "activation ", quoted(name), " is not supported");
  }
  return *found;
}

}  // namespace

void check_activation(const std::string& name, const std::vector<float>& parameters) {
  if (name.empty()) return;
  const Known& one = find(name);
  const auto count = static_cast<std::size_t>(
      std::count_if(one.parameters.begin(), one.parameters.end(),
                    [](std::string_view parameter) { return !parameter.empty(); }));
  const bool fits = parameters.size() == count || (parameters.empty() && name != "Clip");
  if (!fits) {
    fail(ErrorCode::mismatch, "activation ", quoted(name), " has ", parameters.size(),
         " parameters, needed: ", count);
  }
}

Val activation(Val x, const std::string& name, const std::vector<float>& parameters) {
  if (name.empty()) return x;
  const Known& one = find(name);
  if (name == "Clip") {
    return x.builder().node(
        "Clip", {x, scalar_like(x, double{parameters[0]}), scalar_like(x, double{parameters[1]})});
  }
  Attributes attributes;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    attributes.emplace_back(std::string(one.parameters[i]), parameters[i]);
  }
  return x.builder().node(one.name, {x}, std::move(attributes));
}

}  // namespace ondine::kernels
