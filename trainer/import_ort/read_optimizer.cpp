#include <string_view>

#include "core/message.h"
#include "trainer/import_ort/artifacts.h"

namespace ondine::trainer {
namespace {

constexpr const char* domain = "com.microsoft";
// Learning rate of the optimizer group of onnxruntime-training until it is set.
constexpr float default_rate = 0.001F;

template <class T>
T attribute(const graph::NodeDef& node, std::string_view name, T otherwise) {
  const graph::Attribute* const found = graph::find(node.attributes, name);
  if (found == nullptr) return otherwise;
  const T* const value = std::get_if<T>(&found->data);
  if (value == nullptr) {
    fail(ErrorCode::invalid_model, "attribute ", quoted(name), " of ", node.op,
         " has another type than its operator");
  }
  return *value;
}

void read_adamw(const graph::NodeDef& node, OrtOptimizer& optimizer) {
  AdamW settings;
  settings.learning_rate = default_rate;
  settings.beta1 = attribute(node, "alpha", 0.9F);
  settings.beta2 = attribute(node, "beta", 0.999F);
  settings.epsilon = attribute(node, "epsilon", 1e-8F);
  settings.weight_decay = attribute(node, "weight_decay", 0.01F);
  optimizer.start.corrects_bias = attribute(node, "correct_bias", std::int64_t{1}) != 0;
  const std::int64_t mode = attribute(node, "adam_mode", std::int64_t{0});
  if (mode != 1) {
    fail(ErrorCode::unsupported, "AdamWOptimizer with adam_mode ", mode,
         ", supported is 1, which onnxblock.optim.AdamW writes");
  }
  optimizer.start.decays_after_step = true;
  optimizer.name = "adamw";
  optimizer.settings = settings;
}

}  // namespace

OrtOptimizer read_optimizer(const graph::ModelDef& model) {
  OrtOptimizer optimizer;
  for (const graph::NodeDef& node : model.graph.nodes) {
    const bool is_second = !optimizer.name.empty();
    const bool is_optimizer =
        node.domain == domain && (node.op == "AdamWOptimizer" || node.op == "SGDOptimizerV2");
    if (is_optimizer && is_second) fail(ErrorCode::unsupported, "has more than one optimizer");
    if (is_optimizer && node.op == "AdamWOptimizer") {
      read_adamw(node, optimizer);
    } else if (is_optimizer) {
      optimizer.name = "sgd";
      optimizer.settings = Sgd{.learning_rate = default_rate};
    } else if (node.domain == domain && node.op == "InplaceClipGradNorm") {
      optimizer.clip_norm = attribute(node, "max_norm", 1.0F);
    } else {
      fail(ErrorCode::unsupported, "operator ", quoted(node.op), " of domain ", quoted(node.domain),
           ", supported are AdamWOptimizer, SGDOptimizerV2 and InplaceClipGradNorm of ", domain);
    }
  }
  if (optimizer.name.empty()) fail(ErrorCode::unsupported, "has no optimizer");
  return optimizer;
}

}  // namespace ondine::trainer
