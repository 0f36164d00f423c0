// Weights exchanged with other programs: .safetensors files (docs/checkpoints.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <ondine/export.h>
#include <ondine/model.h>

namespace ondine {

// Which state variables: those of role weight, or every one.
enum class WeightSet : std::uint8_t { weights, all };

// Writes the present values under the variables' names; replaces the file in one step. Not while
// another thread trains. Error(mismatch) when there are none, Error(unsupported) for an element
// type that the format lacks.
ONDINE_API void save_weights(const Model& model, const std::filesystem::path& file,
                             WeightSet set = WeightSet::weights);

struct WeightReport {
  std::size_t assigned = 0;
  std::vector<std::string> missing;  // variables of the set that the file does not have
  std::vector<std::string> unknown;  // tensors of the file that are no state variables
};

// Assigns every tensor of the file that is a state variable. All or nothing: Error(mismatch) that
// names each tensor whose element type or shape is not the variable's, or when none is one;
// Error(corrupt) for a damaged file.
ONDINE_API WeightReport load_weights(Model& model, const std::filesystem::path& file,
                                     WeightSet set = WeightSet::weights, const Limits& limits = {});

}  // namespace ondine
