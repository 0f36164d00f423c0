#include "graph/evaluate/body_call.h"

#include "graph/evaluate/graph_runner.h"

namespace ondine::graph {

BodyCall::BodyCall(const Body& body, std::size_t first_capture)
    : body_(&body),
      first_capture_(first_capture),
      runner_(std::make_unique<GraphRunner>(*body.graph)) {}

BodyCall::~BodyCall() = default;

std::vector<Value> BodyCall::run(KernelContext& context, std::span<const Value> inputs,
                                 std::uint64_t iteration) {
  std::vector<Value> all(inputs.begin(), inputs.end());
  for (std::size_t i = 0; i < body_->captures.size(); ++i) {
    all.push_back(context.value(first_capture_ + i));
  }
  auto outputs = runner_->run(*call_, all, mix_stream(salt_, iteration));
  for (Value& output : outputs) {
    if (output.is_tensor() && !output.tensor().owns_memory()) {
      output = output.tensor().clone(call_->budget);
    }
  }
  return outputs;
}

}  // namespace ondine::graph
