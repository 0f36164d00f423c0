// SoftmaxCrossEntropyLoss over many classes of a product with a matrix, whose scores no other node
// reads, becomes ProjectedCrossEntropy, which never has all scores in memory: the loss of a
// language model. A Reshape between them may join or split the dims of rows: rows and labels are
// then seen as one row after the other. Where the scores are an output too, the product stays for
// the runs that fetch them. A matrix that is no constant, since it trains or is held in few bits,
// must be large: its derivative takes one more product of it.
#include "graph/passes/fuse.h"
#include "graph/passes/recognize/attention_heads.h"

namespace ondine::graph {
namespace {

// With fewer classes the scores are small beside what the product reads.
constexpr std::int64_t least_classes = 1024;

// As for fuse_gemm_update.
constexpr std::int64_t least_elements = std::int64_t{1} << 20;

// A float matrix, looking through a Transpose.
struct Matrix {
  ValueId id = no_value;
  bool transposed = false;
};

constexpr std::int64_t view_version = 13;

// The product that scores are, and whether their rows were seen in other dims since.
struct Scores {
  const Node* product = nullptr;
  bool reshaped = false;
};

class Recognizer {
 public:
  Recognizer(Graph& graph, const Catalogue& catalogue, const OpDef* fused, const Uses& uses,
             const std::vector<int>& fetched)
      : graph_(&graph),
        uses_(&uses),
        fused_(fused),
        flatten_(catalogue.find("", "Flatten")),
        reshape_(catalogue.find("", "Reshape")),
        fetched_(&fetched) {}

  bool operator()(Node& node, std::vector<Node>& before) const {
    if (node.op->name != "SoftmaxCrossEntropyLoss" || !node.op->domain.empty()) return false;
    const NodeView loss(node);
    const bool reads_more = node.outputs.size() > 1 && node.outputs[1] != no_value;
    if (loss.has_input(2) || reads_more || loss.attr_string("reduction", "mean") == "none") {
      return false;
    }
    const Scores scores = product_of(node.inputs[0]);
    if (scores.product == nullptr || !is_plain(*scores.product)) return false;
    const auto matrix = matrix_of(*scores.product);
    if (!matrix) return false;
    ValueId rows = scores.product->inputs[0];
    ValueId labels = node.inputs[1];
    if (scores.reshaped && !flatten(rows, labels, before)) return false;
    node.inputs = {rows, labels, matrix->id};
    node.attributes.emplace_back("transposed", std::int64_t{matrix->transposed});
    node.outputs.resize(1);
    node.op = fused_;
    node.version = 1;
    return true;
  }

 private:
  // The product of scores [rows, classes], or of those whose classes a Transpose moves from the
  // last axis to axis 1.
  Scores product_of(ValueId scores) const {
    const Type& type = (*graph_)[scores].type;
    if (!type.ranked() || !is_full_float(*graph_, scores)) return {};
    if (type.rank() == 2) return product_behind(scores);
    const Node* const moved = read_once(scores, "Transpose");
    if (moved == nullptr) return {};
    std::vector<std::int64_t> order{0, static_cast<std::int64_t>(type.rank()) - 1};
    for (std::size_t i = 1; i + 1 < type.rank(); ++i) order.push_back(static_cast<std::int64_t>(i));
    return NodeView(*moved).attr_ints("perm") == order ? product_behind(moved->inputs[0])
                                                       : Scores{};
  }
  // The product, or the one of which a Reshape keeps the classes.
  Scores product_behind(ValueId scores) const {
    const Node* const view = read_once(scores, "Reshape");
    if (view == nullptr) return {product_at(scores), false};
    const Type& from = (*graph_)[view->inputs[0]].type;
    const Type& to = (*graph_)[scores].type;
    const bool keeps = from.ranked() && to.ranked() && from.rank() > 1 && to.rank() > 1 &&
                       from.dims->back().known() && from.dims->back().same(to.dims->back());
    return keeps ? Scores{product_at(view->inputs[0]), true} : Scores{};
  }
  // Makes both one row after the other.
  bool flatten(ValueId& rows, ValueId& labels, std::vector<Node>& before) const {
    const Type& of_rows = (*graph_)[rows].type;
    const Type& of_labels = (*graph_)[labels].type;
    if (flatten_ == nullptr || reshape_ == nullptr || !of_labels.ranked()) return false;
    const auto axis = static_cast<std::int64_t>(of_rows.rank()) - 1;
    if (axis > 1) {
      rows = append_node(*graph_, before, *flatten_, view_version, {rows}, {{"axis", axis}});
    }
    if ((*graph_)[labels].type.rank() > 1) {
      const ValueId flat = add_constant(*graph_, Tensor::of<std::int64_t>({1}, {-1}));
      labels = append_node(*graph_, before, *reshape_, view_version, {labels, flat});
    }
    return true;
  }
  const Node* product_at(ValueId scores) const {
    if (const Node* const gemm = read_once(scores, "Gemm")) return gemm;
    if (const Node* const product = read_once(scores, "MatMul")) return product;
    return read_once(scores, "MatMulT", ondine_domain);  // by recognize_block_weights
  }
  // The operator that makes the value, which one node reads to compute with it.
  const Node* read_once(ValueId id, std::string_view op, std::string_view domain = {}) const {
    const auto readers = [&](ValueId value) {
      return 1 + (*fetched_)[static_cast<std::size_t>(value)];
    };
    while (const Node* same = uses_->producer_for(id, readers(id), "Identity")) {
      id = same->inputs[0];
    }
    return uses_->producer_for(id, readers(id), op, domain);
  }

  bool is_plain(const Node& product) const {
    const Type& rows = (*graph_)[product.inputs[0]].type;
    if (!rows.ranked() || rows.rank() < 2) return false;
    const NodeView view(product);
    if (product.op->name != "Gemm") return view.attr_int("transA", 0) == 0;
    return is_plain_gemm(view) && !view.has_input(2) && view.attr_int("transA", 0) == 0;
  }

  std::optional<Matrix> matrix_of(const Node& product) const {
    Matrix matrix{product.inputs[1], NodeView(product).attr_int("transB", 0) != 0};
    const Node* const transpose = uses_->producer(matrix.id, "Transpose");
    if (transpose != nullptr && swaps_last_two(NodeView(*transpose), 2) &&
        !uses_->is_named(matrix.id)) {
      matrix = {transpose->inputs[0], !matrix.transposed};
    }
    const Type& type = (*graph_)[matrix.id].type;
    const auto shape = type.shape();
    if (!shape || shape->rank() != 2) return {};
    if (type.dtype != (*graph_)[product.inputs[0]].type.dtype) return {};
    const Tensor& values = (*graph_)[matrix.id].constant;
    const bool is_frozen = values.defined() && !uses_->is_named(matrix.id);
    const bool is_wide = (*shape)[matrix.transposed ? 0 : 1] >= least_classes &&
                         (is_frozen || shape->size() >= least_elements);
    return is_wide ? std::optional(matrix) : std::nullopt;
  }

  Graph* graph_;
  const Uses* uses_;
  const OpDef* fused_;
  const OpDef* flatten_;
  const OpDef* reshape_;
  const std::vector<int>* fetched_;
};

// How often each value is an output of the graph, as it is or through an Identity.
std::vector<int> count_outputs(const Graph& graph) {
  std::vector<int> counts(graph.values.size());
  for (const ValueId id : graph.outputs) ++counts[static_cast<std::size_t>(id)];
  const Uses uses(graph);
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    if (node->op->name != "Identity" || !node->op->domain.empty()) continue;
    const int count = counts[static_cast<std::size_t>(node->outputs[0])];
    if (count > 0 && count == uses.readers(node->outputs[0])) {
      ++counts[static_cast<std::size_t>(node->inputs[0])];
    }
  }
  return counts;
}

bool run(Graph& graph, const PassContext& context) {
  if (context.catalogue == nullptr) return false;
  const OpDef* const fused = context.catalogue->find(ondine_domain, "ProjectedCrossEntropy");
  if (fused == nullptr) return false;
  const std::vector<int> fetched = count_outputs(graph);
  return fuse_inserting(graph, [&](Node& node, const Uses& uses, std::vector<Node>& before) {
    return Recognizer(graph, *context.catalogue, fused, uses, fetched)(node, before);
  });
}

}  // namespace

const Pass recognize_projected_loss{"recognize_projected_loss", run};

}  // namespace ondine::graph
