// Operator-set documents (OperatorSetProto): what they contain and whether they are valid. Models
// use their functions through LoadOptions::operator_sets (docs/operator-sets.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <ondine/export.h>
#include <ondine/limits.h>
#include <ondine/model.h>

namespace ondine {

// An operator that a set declares; the format has no signatures.
struct OperatorDeclaration {
  std::string name;
  std::int64_t since_version = 0;
  bool stable = false;  // or experimental
  std::string doc;
};

struct OperatorSetFunction {
  std::string name;
  std::string overload;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> attributes;  // those with a default as "alpha = 0.5"
  // Domains, "" for ai.onnx, and versions.
  std::vector<std::pair<std::string, std::int64_t>> imports;
  std::size_t nodes = 0;  // without those of subgraphs
  std::string doc;
};

struct OperatorSetInfo {
  std::string domain;  // "" for ai.onnx
  std::int64_t version = 0;
  std::int64_t ir_version = 0;
  std::string ir_prerelease;
  std::string ir_build_metadata;
  std::string doc;
  std::vector<OperatorDeclaration> operators;
  std::vector<OperatorSetFunction> functions;
};

// Whether the contents of the file are those of an operator set, which may be damaged or have
// another magic. False for a file that cannot be read.
ONDINE_API bool is_operator_set(const std::filesystem::path& file);

// Contents of the document, even if it violates rules. Throws Error(invalid_model) for a file that
// is no operator set or has invalid functions, Error(limit) and Error(io).
ONDINE_API OperatorSetInfo operator_set_info(const std::filesystem::path& file,
                                             const Limits& limits = {});

// All findings on a document, one line each. Empty when models can use each of its functions,
// together with those of LoadOptions::operator_sets; `limits` is the only other option that counts.
// Throws Error(io) for a file that cannot be read.
ONDINE_API std::vector<std::string> check_operator_set(const std::filesystem::path& file,
                                                       const LoadOptions& options = {});

}  // namespace ondine
