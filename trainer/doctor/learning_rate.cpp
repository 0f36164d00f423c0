#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>

#include "core/message.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/writer.h"
#include "trainer/doctor/examination.h"
#include "trainer/model/model_impl.h"

namespace ondine::trainer {
namespace {

constexpr double least = 1e-7;
constexpr double most = 1;
constexpr double most_adaptive = 0.03;  // for Adam and the like

std::optional<double> rate_of(const Examination& on) {
  // The algorithm that is examined may only accumulate gradients.
  for (std::size_t i = on.options.algorithm; i < on.model->algorithm_count(); ++i) {
    try {
      return static_cast<double>(on.model->learning_rate(i));
    } catch (const Error& error) {
      // It is fed in every step, or has no name that tells.
      if (error.code() != ErrorCode::mismatch) throw;
    }
  }
  return std::nullopt;
}

using graph::NodeDef;

enum class OptimizerKind { adaptive, other, unknown };

OptimizerKind kind_of(const NodeDef& node) {
  const bool is_contrib = node.domain == "com.microsoft";
  if (is_contrib && graph::one_of(node.op, {"AdamOptimizer", "AdamWOptimizer", "LambOptimizer"})) {
    return OptimizerKind::adaptive;
  }
  if (is_contrib && node.op == "SGDOptimizer") return OptimizerKind::other;
  if (node.domain != graph::training_domain) return OptimizerKind::unknown;
  if (node.op == "Adam") return OptimizerKind::adaptive;
  return graph::one_of(node.op, {"Adagrad", "Momentum"}) ? OptimizerKind::other
                                                         : OptimizerKind::unknown;
}

// Whether elements of states of the optimizer go into a root, as second moments do, or signs of
// them are taken: steps of these optimizers are about as large as their rate.
bool sets_sizes(const graph::GraphDef& algorithm, const Model& model) {
  std::set<std::string, std::less<>> moments;
  for (const StateInfo& one : model.state()) {
    if (one.role == StateRole::optimizer_state && one.shape.rank() > 0) moments.insert(one.name);
  }
  for (const NodeDef& node : algorithm.nodes) {
    const auto reads = graph::reads_of(node);
    if (node.domain == graph::training_domain ||
        std::ranges::none_of(reads, [&](const auto& name) { return moments.contains(name); }) ||
        node.op.starts_with("Reduce")) {
      continue;
    }
    if (graph::one_of(node.op, {"Sqrt", "Pow", "Sign"}) && moments.contains(node.inputs[0]))
      return true;
    moments.insert(node.outputs.begin(), node.outputs.end());
  }
  return false;
}

// Whether the optimizer is Adam, a relative of it or one that takes signs, of any algorithm: the
// first may only accumulate gradients.
bool is_adaptive(const Model& model) {
  const graph::ModelDef& def = ModelAccess::impl(model).def;
  bool is_known = false;
  for (const graph::TrainingInfoDef& info : def.training) {
    if (!info.algorithm) continue;
    for (const NodeDef& node : info.algorithm->nodes) {
      const OptimizerKind kind = kind_of(node);
      if (kind == OptimizerKind::adaptive) return true;
      is_known = is_known || kind == OptimizerKind::other;
    }
  }
  return !is_known && std::ranges::any_of(def.training, [&](const graph::TrainingInfoDef& info) {
    return info.algorithm && sets_sizes(*info.algorithm, model);
  });
}

}  // namespace

void find_learning_rate(const Examination& on, Findings& findings) {
  const auto rate = rate_of(on);
  if (!rate) return;
  const double bound = is_adaptive(*on.model) ? most_adaptive : most;
  if (std::isfinite(*rate) && *rate >= least && *rate <= bound) return;
  findings.push_back(
      {"learning-rate",
       cat("the learning rate is ", brief(*rate), "; usual are ", brief(least), " to ",
           brief(bound), bound == most_adaptive ? " with Adam and its like" : ""),
       cat("Choose another: train --learning-rate ", bound == most_adaptive ? "0.001" : "0.01",
           ".")});
}

}  // namespace ondine::trainer
