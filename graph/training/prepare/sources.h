// Which parameters of the module initializers come from.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "graph/ir/document.h"
#include "graph/training/prepare/parameters/signature.h"

namespace ondine::graph {

// For files whose metadata lists the parameters of the module; for others nothing is known.
class Sources {
 public:
  Sources(const GraphDef& graph, const GraphSignature& signature);

  // The initializer itself if the list has it; the one parameter, or else the one buffer, that it
  // was folded from. "" if there is none or more than one.
  const std::string& of(std::string_view initializer) const;
  // Whether some initializer was folded from the parameter, among others perhaps.
  bool is_folded(std::string_view parameter) const { return folded_.contains(parameter); }

 private:
  void note(const GraphSignature& signature, const std::string& name, const Properties& metadata);

  std::unordered_map<std::string, std::string> sources_;
  std::set<std::string, std::less<>> folded_;
};

}  // namespace ondine::graph
