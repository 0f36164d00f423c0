// The layout of PEFT: names and shapes of tensors, and members of the configuration.
#pragma once

#include <string>
#include <vector>

#include <ondine/model.h>

#include "checkpoints/safetensors.h"
#include "graph/record/json_value.h"
#include "graph/training/adapters/beside.h"
#include "graph/training/adapters/record.h"

namespace ondine::trainer {

// A state variable of an adapter as PEFT has it.
struct PeftPart {
  std::string word;    // "lora_A"
  std::string suffix;  // "lora_A.weight", what follows the module
  std::string state;
  Shape shape;              // in PEFT
  bool transposed = false;  // the matrix is; else the elements have one order
};
std::vector<PeftPart> peft_parts(const graph::Adapter& adapter, const Model& model);
// The name of the tensor in the file.
std::string peft_name(const graph::Adapter& adapter, const PeftPart& part);
Tensor to_peft(const PeftPart& part, const Tensor& state);

graph::JsonValue peft_settings(const graph::Adapters& adapters, const Model& model);
// Error(mismatch or unsupported) where adapters with these settings compute something else than the
// model's nodes do.
void check_peft_settings(const std::string& text, const graph::Adapters& adapters);

// The state that the tensors give the model. Error(mismatch) for one that is missing, that the
// model does not have, or of another shape or type.
NamedValues peft_state(const Safetensors& content, const graph::Adapters& adapters,
                       const Model& model);

// Factor of (x a) b, and the matrices as the record has them, for low-rank adapters that leave the
// weights as they are. Error(unsupported) for other adapters.
double peft_scale(const std::string& settings);
std::vector<graph::BesideLayer> peft_matrices(const Safetensors& content);

}  // namespace ondine::trainer
