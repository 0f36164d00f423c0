// The optimizers of ai.onnx.preview.training: their inputs are R, T and then groups of equal size:
// all variables, all gradients and so on.
#include <array>

#include "graph/check/rules.h"

namespace ondine::graph {
namespace {

struct Optimizer {
  std::string_view name;
  std::size_t input_groups;
  std::size_t output_groups;
};

constexpr std::array optimizers{
    Optimizer{"Adagrad", 3, 2},
    Optimizer{"Adam", 4, 3},
    Optimizer{"Momentum", 3, 2},
};

}  // namespace

void check_optimizer(const NodeDef& node, const Site& site) {
  if (node.domain != "ai.onnx.preview.training") return;
  for (const auto& optimizer : optimizers) {
    if (optimizer.name != node.op || node.inputs.size() < 2) continue;
    const std::size_t tensors = node.inputs.size() - 2;
    if (tensors == 0 || tensors % optimizer.input_groups != 0) {
      site.reject(node, "has ", tensors, " tensors after R and T, not a multiple of ",
                  optimizer.input_groups);
      continue;
    }
    const std::size_t max_outputs = tensors / optimizer.input_groups * optimizer.output_groups;
    if (node.outputs.size() > max_outputs) {
      site.reject(node, "has ", node.outputs.size(), " outputs, for ", tensors,
                  " tensors there are ", max_outputs);
    }
  }
}

}  // namespace ondine::graph
