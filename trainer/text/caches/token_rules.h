// The rules of operators for values that tokens decide (token_axes.h).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "graph/contract/node_view.h"
#include "trainer/text/caches/token_axes.h"

namespace ondine::text {

// Knowledge of the values of a graph: tokens decide a value, or the length alone, or nothing is
// known.
class TokenView {
 public:
  // The graph, and the same typed for texts of two lengths.
  TokenView(const graph::Graph& graph, graph::Graph first, graph::Graph second,
            std::int64_t first_length, std::int64_t second_length);

  const graph::Graph& graph() const noexcept { return *graph_; }
  // nullptr where tokens do not decide it.
  const TokenAxes* tokens(graph::ValueId id) const;
  bool is_length(graph::ValueId id) const;
  // Whether only shapes of values with one axis of tokens decide it, which in a step with a cache
  // have the new tokens alone.
  bool is_of_new_tokens(graph::ValueId id) const;
  void set_tokens(graph::ValueId id, const TokenAxes& axes);
  void set_length(graph::ValueId id, bool of_new_tokens);
  // A mask or positions: inputs with the dims of the ids.
  void set_text(graph::ValueId id);
  bool is_text(graph::ValueId id) const;

  // nullopt where a dim is unknown.
  std::optional<Shape> shape(graph::ValueId id) const;
  std::optional<Shape> second_shape(graph::ValueId id) const;
  // Axes along which shapes differ, each as long as the text; nullopt for other differences.
  std::optional<std::vector<std::size_t>> varying(graph::ValueId id) const;
  // Known elements of a small value that is the same for both lengths.
  std::optional<std::vector<std::int64_t>> integers(graph::ValueId id) const;
  // The elements of a constant of one element.
  std::optional<double> number(graph::ValueId id) const;

  std::int64_t first_length, second_length;

 private:
  struct Known {
    std::optional<TokenAxes> tokens;
    bool is_length = false, of_new_tokens = false, is_text = false;
  };
  const Known& known(graph::ValueId id) const { return known_[static_cast<std::size_t>(id)]; }
  Known& known(graph::ValueId id) { return known_[static_cast<std::size_t>(id)]; }

  const graph::Graph* graph_;
  graph::Graph first_, second_;
  std::vector<Known> known_;
};

// One node.
class NodeTokens : public graph::NodeView {
 public:
  NodeTokens(TokenView& view, LengthValues& lengths, const graph::Node& node, std::size_t index,
             CacheSites& sites)
      : NodeView(node), view_(view), lengths_(lengths), index_(index), sites_(sites) {}

  // Sets what is known of the outputs. Error(unsupported) naming the node.
  void run();

 private:
  graph::ValueId in(std::size_t i) const { return node().inputs[i]; }
  const TokenAxes* tokens(std::size_t i) const {
    return has_input(i) ? view_.tokens(in(i)) : nullptr;
  }
  bool is_length(std::size_t i) const { return has_input(i) && view_.is_length(in(i)); }
  std::size_t rank(graph::ValueId id) const;
  std::size_t rank_in(std::size_t i) const { return rank(in(i)); }
  std::size_t rank_out() const { return rank(node().outputs[0]); }
  [[noreturn]] void refuse(std::string_view why) const;
  void require(bool holds, std::string_view why) const {
    if (!holds) refuse(why);
  }
  void give(const TokenAxes& axes);
  // Operands from `first` on say something of shapes: constants, or of new tokens alone.
  void require_shape_operands(std::size_t first) const;
  // Operands from `first` on have no tokens and do not change with the length.
  void require_constants(std::size_t first) const;
  void add_length_operand(std::size_t i, std::optional<std::size_t> token,
                          std::optional<std::size_t> key);
  void require_single() const;  // input 0 has one axis of tokens

  void run_tokens();
  bool run_moves();
  bool run_features();
  void elementwise();
  // Input i, which is broadcast to the result.
  void read_length_operand(std::size_t i, const TokenAxes& result);
  bool masks(const TokenAxes& result) const;
  bool keeps_mask() const;
  bool keeps_causality() const;
  // Whether see(element) holds for each token and a later one.
  bool all_later(graph::ValueId id, const TokenAxes& result, bool (*see)(double element)) const;
  void matmul();
  void softmax();
  void reduce();
  void move_places();
  void transpose();
  void gather();
  void concat();
  void slice_or_split();
  void attention();
  void rotary();

  TokenView& view_;
  LengthValues& lengths_;
  std::size_t index_;
  CacheSites& sites_;
};

}  // namespace ondine::text
