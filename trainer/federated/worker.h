// The tasks of a node on its model and data.
#pragma once

#include <string>
#include <vector>

#include <ondine/federated.h>

#include "trainer/federated/instruction.h"
#include "trainer/federated/reply.h"
#include "trainer/federated/stop_flag.h"

namespace ondine::federated {

struct TaskResult {
  ReplyContent content;
  NamedValues weights = {};  // that the model is to have afterwards; none: those it has
  Metrics metrics = {};
  std::uint64_t examples = 0;
  std::uint64_t round = 0;
  std::vector<std::string> notes = {};
};

class Worker {
 public:
  // Error(mismatch) for options that make no sense in a federation and for weights that it cannot
  // exchange.
  Worker(const Model& model, const Dataset& data, const FederatedOptions& options, StopFlag& stop);

  const std::vector<StateInfo>& wanted() const noexcept { return wanted_; }

  // The model that the node was given stays as it is. Throws LinkError of kind interrupted where
  // the node is to end, and Error where the message asks for what the node cannot do or its time
  // is over.
  TaskResult run(const Instruction& instruction, const fleet::Metadata& metadata);

 private:
  // Ready to be trained or evaluated, with a proximal term unless `proximal` is 0.
  Model prepared(const NamedValues& arrays, std::uint64_t seed, double proximal) const;
  TrainerOptions options_for(const RoundSettings& settings) const;
  TaskResult train(const Instruction& instruction, const RoundSettings& settings,
                   const fleet::Metadata& metadata);
  TaskResult evaluate(const Instruction& instruction, const RoundSettings& settings);
  TaskResult query() const;

  Model base_;
  const FederatedOptions& options_;
  StopFlag& stop_;
  std::vector<StateInfo> wanted_;
  Dataset training_;
  Dataset evaluated_;
};

}  // namespace ondine::federated
