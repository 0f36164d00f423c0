// An operator-set document as its file describes it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/ir/document.h"

namespace ondine::graph {

// An operator that the set declares. The format has no signatures.
struct OperatorDef {
  std::string name;
  std::int64_t since_version = 0;
  bool stable = false;
  std::string doc;
};

struct OperatorSetDef {
  std::string magic;
  std::int64_t ir_version = 0;
  std::string ir_prerelease;
  std::string ir_build_metadata;
  std::string domain;  // "" for ai.onnx, also where the file spells it out
  std::int64_t version = 0;
  std::string doc;
  std::vector<OperatorDef> operators;
  std::vector<FunctionDef> functions;
};

}  // namespace ondine::graph
