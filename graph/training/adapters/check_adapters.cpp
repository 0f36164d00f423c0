#include "graph/training/adapters/check_adapters.h"

#include "core/message.h"

namespace ondine::graph {

std::vector<const char*> ways_of(const PrepareOptions& options) {
  std::vector<const char*> ways;
  if (options.lora) ways.push_back("lora");
  if (options.ia3) ways.push_back("ia3");
  if (options.prompt) ways.push_back("prompt");
  if (options.only_biases) ways.push_back("only_biases");
  return ways;
}

void check_adapters(const PrepareOptions& options) {
  const std::vector<const char*> ways = ways_of(options);
  if (ways.empty()) return;
  if (ways.size() > 1) fail(ErrorCode::mismatch, ways[0], " excludes ", ways[1]);
  const char* excluded = options.last_layers ? "last_layers" : options.qat ? "qat" : nullptr;
  if (options.init != WeightInit::automatic && options.init != WeightInit::keep) excluded = "init";
  if (excluded != nullptr) {
    fail(ErrorCode::mismatch, "adapters (", ways[0],
         ") leave the weights of the model alone, which excludes ", excluded);
  }
  if (options.prompt && options.packing) {
    fail(ErrorCode::mismatch, "prompt tuning stands before a whole row, which excludes packing");
  }
  if (!options.lora) return;
  if (options.lora->dropout > 0 && !options.training_mode) {
    fail(ErrorCode::mismatch, "the dropout of adapters has no effect without training mode");
  }
  if (options.lora->dora && options.quantize_frozen) {
    fail(ErrorCode::mismatch, "adapters with lengths (dora) exclude quantize_frozen");
  }
}

}  // namespace ondine::graph
