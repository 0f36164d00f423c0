// From the definition of a graph to the graph of a function.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <ondine/model.h>

#include "graph/check/findings.h"
#include "graph/ir/document.h"
#include "graph/passes/pass.h"
#include "graph/resolve/dim_classes.h"
#include "graph/resolve/resolve.h"
#include "trainer/model/assemble.h"

namespace ondine::trainer {

// Purpose of a graph: to run, or to know its inputs and outputs and that it can be made.
enum class GraphUse : std::uint8_t { run, run_once, describe };

// Empty if there were findings.
struct AssembledGraph {
  std::shared_ptr<const graph::Graph> graph;
  graph::DimClasses dims;
};

// Makes the graphs of one model: resolves, expands derivatives and optimizes. They share symbols
// and folded constants.
class GraphAssembler {
 public:
  using Names = std::set<std::string, std::less<>>;
  using Rewrite = std::function<void(graph::Graph&)>;

  // Both must outlive it.
  GraphAssembler(const graph::ModelDef& model, const LoadOptions& options);

  // Sees each graph before its derivatives are appended; graphs are not optimized then. Must
  // outlive the assembler.
  void set_rewrite(const Rewrite& rewrite) { rewrite_ = &rewrite; }
  bool rewrites() const noexcept { return rewrite_ != nullptr; }

  graph::Symbols* symbols() const noexcept { return symbols_.get(); }
  void set_folded(graph::FoldedConvolutions folded) { folded_ = std::move(folded); }
  graph::FoldedConvolutions take_folded() { return std::move(folded_); }
  // Must outlive the assembler; may be null.
  void set_rounded(RoundedWeights* rounded) noexcept { rounded_ = rounded; }
  // Whether a graph that was made multiplies frozen matrices in 8 bits.
  bool multiplied_bytes() const noexcept { return multiplied_bytes_; }

  // `variables`: initializers that become inputs. A graph to describe has no nodes, and is
  // optimized only where that tells more of its outputs.
  AssembledGraph make(graph::GraphParts parts, const Names& variables, std::string_view stage,
                      GraphUse use, graph::Findings& findings, const StageObserver& observer);

 private:
  // Nothing where there are findings.
  std::optional<graph::Graph> resolve(graph::GraphParts parts, const Names& variables,
                                      graph::Findings& findings) const;
  void rewrite(graph::Graph& graph, GraphUse use, const StageObserver& observer);

  const graph::ModelDef* model_;
  const LoadOptions* options_;
  const Rewrite* rewrite_ = nullptr;
  std::shared_ptr<graph::Symbols> symbols_;
  graph::FoldedConvolutions folded_;
  RoundedWeights* rounded_ = nullptr;
  bool multiplied_bytes_ = false;
};

}  // namespace ondine::trainer
