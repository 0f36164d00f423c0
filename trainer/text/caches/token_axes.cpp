#include "trainer/text/caches/token_axes.h"

#include <algorithm>

#include "core/message.h"
#include "core/to_doubles.h"
#include "graph/contract/node_view.h"
#include "graph/contract/op_def.h"
#include "trainer/text/caches/token_rules.h"

namespace ondine::text {

using namespace graph;  // NOLINT

namespace {

// Lengths at which shapes are compared, and some at which values are.
constexpr std::int64_t first_length = 5, second_length = 7;

class Finder {
 public:
  Finder(const Graph& graph, const TextInputs& inputs, ValueId scores, LengthValues& lengths)
      : graph_(graph),
        scores_(scores),
        lengths_(lengths),
        view_(graph, lengths.typed(first_length, {&scores, 1}),
              lengths.typed(second_length, {&scores, 1}), first_length, second_length) {
    view_.set_tokens(inputs.ids, {.token = 1, .key = {}});
    if (inputs.mask) view_.set_text(*inputs.mask);
    if (inputs.positions) view_.set_text(*inputs.positions);
  }

  CacheSites run() {
    find_needed();
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!needed_[i]) continue;
      NodeTokens node(view_, lengths_, graph_.nodes[i], i, sites_);
      node.run();
    }
    const TokenAxes* axes = view_.tokens(scores_);
    if (axes == nullptr || axes->key || axes->token != 1) {
      fail(ErrorCode::unsupported, "the scores have no place for each token");
    }
    require_beginnings();
    return std::move(sites_);
  }

 private:
  void find_needed() {
    needed_.resize(graph_.nodes.size());
    std::vector<bool> read(graph_.values.size());
    read[static_cast<std::size_t>(scores_)] = true;
    for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
      const Node& node = graph_.nodes[i];
      needed_[i] = std::ranges::any_of(node.outputs, [&](ValueId id) {
        return id != no_value && read[static_cast<std::size_t>(id)];
      });
      if (!needed_[i]) continue;
      const auto inputs = node.all_inputs();
      for (const ValueId id : inputs) {
        if (id != no_value) read[static_cast<std::size_t>(id)] = true;
      }
    }
  }

  // Values that the length decides must be the same for earlier tokens in a longer text.
  void require_beginnings() {
    std::vector<ValueId> values;
    for (const LengthOperand& one : sites_.lengths) {
      values.push_back(graph_.nodes[one.node].inputs[one.input]);
    }
    const std::int64_t longest = lengths_.longest();
    for (const std::int64_t length : {std::int64_t{1}, std::int64_t{2}, std::int64_t{3},
                                      std::int64_t{6}, longest / 2 + 1, longest - 1}) {
      if (length < 1 || length >= longest || values.empty()) continue;
      const std::vector<Tensor> parts = lengths_.at(length, values);
      for (std::size_t i = 0; i < parts.size(); ++i) {
        const LengthOperand& one = sites_.lengths[i];
        std::vector<std::size_t> axes;
        if (one.token) axes.push_back(*one.token);
        if (one.key) axes.push_back(*one.key);
        if (!is_beginning(parts[i], lengths_.table(values[i]), axes)) {
          fail(ErrorCode::unsupported, describe(graph_.nodes[one.node], graph_), " reads ",
               quoted(graph_[values[i]].name),
               ", which changes for earlier tokens with the length");
        }
      }
    }
  }

  const Graph& graph_;
  ValueId scores_;
  LengthValues& lengths_;
  TokenView view_;
  std::vector<bool> needed_;
  CacheSites sites_;
};

}  // namespace

CacheSites find_cache_sites(const Graph& graph, const TextInputs& inputs, ValueId scores,
                            LengthValues& lengths) {
  return Finder(graph, inputs, scores, lengths).run();
}

}  // namespace ondine::text
