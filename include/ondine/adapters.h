// Adapters that prepare() put beside the linear layers of a model, exchanged with other programs in
// the layout of PEFT: a folder with adapter_model.safetensors and adapter_config.json
// (docs/adapters.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <ondine/export.h>
#include <ondine/limits.h>
#include <ondine/model.h>

namespace ondine {

struct AdapterInfo {
  std::string module;  // of PyTorch where the model's file tells, else the name of the weight
  std::string weight;
  std::string a;  // state variables, [in, rank] and [rank, out]
  std::string b;
  double scale = 1;  // the layer adds scale (x a) b
};
// In the order of the nodes; empty for a model without adapters. Error(corrupt) naming the
// metadata.
ONDINE_API std::vector<AdapterInfo> adapters(const Model& model);

// Writes the present values: "base_model.model.<module>.lora_A.weight" [rank, in] and
// "...lora_B.weight" [out, rank], in the type of the layers. Makes the folder, replaces each file
// in one step. Error(mismatch) for a model without adapters, and where two have one module.
ONDINE_API void save_adapters(const Model& model, const std::filesystem::path& folder);

// Assigns the adapters of such a folder, all or nothing. Modules may have names of more or fewer
// parts in front than in the model, as long as one fits. Error(mismatch) for an adapter that is
// missing or that the model does not have, another shape, type or scale; Error(unsupported) for
// another kind of adapters; Error(corrupt) for a damaged file.
ONDINE_API void load_adapters(Model& model, const std::filesystem::path& folder,
                              const Limits& limits = {});

}  // namespace ondine
