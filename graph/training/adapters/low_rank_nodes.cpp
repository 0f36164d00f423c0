#include "graph/training/adapters/low_rank_nodes.h"

namespace ondine::graph {

std::string low_rank_nodes(GraphWriter& writer, LayerForm form, const NodeDef& base,
                           const std::string& x, const std::string& a, const std::string& b,
                           const std::string& hint) {
  if (form == LayerForm::convolution) {
    return writer.node("Conv", {writer.node("Conv", {x, a}, hint, base.attributes), b}, hint);
  }
  const bool is_table = form == LayerForm::embedding;
  const std::string inner =
      is_table ? writer.node("Gather", {a, x}, hint) : writer.node("MatMul", {x, a}, hint);
  return writer.node("MatMul", {inner, b}, hint);
}

}  // namespace ondine::graph
