// Adapters that prepare() put beside the linear layers of a model, exchanged with other programs in
// the layout of PEFT: a folder with adapter_model.safetensors and adapter_config.json
// (docs/adapters.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <ondine/export.h>
#include <ondine/limits.h>
#include <ondine/model.h>

namespace ondine {

enum class AdapterKind : std::uint8_t { lora, ia3, prompt, channels };

struct AdapterInfo {
  std::string module;  // of PyTorch where the model's file tells, else the name of the weight
  std::string weight;
  // State variables; empty where the kind has none.
  std::string a;  // of a linear layer [in, rank] and [rank, out]
  std::string b;  // of channels what is added to these parts of the weight; `a` has their numbers
  double scale = 1;  // the layer adds scale (x a) b
  AdapterKind kind = AdapterKind::lora;
  std::string magnitude;  // of DoRA
  std::string factor;     // of (IA)3: of the outputs, or
  bool of_inputs = false;
  std::string prompt;  // [tokens, dims]
};
// In the order of the nodes; empty for a model without adapters. Error(corrupt) naming the
// metadata.
ONDINE_API std::vector<AdapterInfo> adapters(const Model& model);

// Writes the present values: "base_model.model.<module>.lora_A.weight" [rank, in] and
// "...lora_B.weight" [out, rank], in the type of the layers. Makes the folder, replaces each file
// in one step. Error(mismatch) for a model without adapters, and where two have one module;
// Error(unsupported) for channels, which PEFT does not have.
ONDINE_API void save_adapters(const Model& model, const std::filesystem::path& folder);

// Assigns the adapters of such a folder, all or nothing. Modules may have names of more or fewer
// parts in front than in the model, as long as one fits. Error(mismatch) for an adapter that is
// missing or that the model does not have, another shape, type or scale; Error(unsupported) for
// another kind of adapters; Error(corrupt) for a damaged file.
ONDINE_API void load_adapters(Model& model, const std::filesystem::path& folder,
                              const Limits& limits = {});

// A folder of low-rank adapters that stands beside a model, and how often it counts.
struct AdapterFolder {
  std::filesystem::path folder;
  double weight = 1;      // finite
  std::string name = {};  // empty: the last part of the folder's path
};

// The model, for inference, with the low-rank adapters of several such folders (LoRA and rsLoRA):
// each layer adds weight scale (x a) b of every adapter that has its module. The weights are inputs
// "adapter.NAME", float of rank 0, with the given values as defaults: feed others to switch between
// adapters or to weigh them, from call to call. The weights of the base are not copied.
// Error(mismatch) for a model with training information or adapters, for a module that the model
// does not have, another shape or type, and for names that are not apart; Error(unsupported) for
// another kind of adapters; Error(corrupt) for a damaged file.
ONDINE_API Model with_adapters(const Model& base, std::span<const AdapterFolder> folders,
                               const LoadOptions& load = {});

}  // namespace ondine
