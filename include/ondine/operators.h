// Which operators of the library a model needs, for builds that keep no others.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <ondine/export.h>
#include <ondine/model.h>

namespace ondine {

struct OperatorUse {
  std::string identifier;  // a line of the file that the CMake option ONDINE_OPERATORS names
  std::string domain;      // "" for ai.onnx
  std::string name;
  bool contrib = false;  // defined by onnxruntime, not by the standard
};

// Operators of the model, sorted by identifier: its own and those of its derivatives, expansions
// and passes. Throws the errors of Model::load.
ONDINE_API std::vector<OperatorUse> operators_of(const std::filesystem::path& model,
                                                 const LoadOptions& options = {});

// The loaded model beside its operators, which loading finds.
struct LoadedModel {
  Model model;
  std::vector<OperatorUse> operators;  // as operators_of() lists them
};
// Throws what Model::load throws.
ONDINE_API LoadedModel load_with_operators(const std::filesystem::path& model,
                                           const LoadOptions& options = {});

}  // namespace ondine
