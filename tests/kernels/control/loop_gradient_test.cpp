// Derivatives through loops that carry sequences and optionals, and tensors that change shape.
#include <catch2/catch.hpp>

#include "graph/contract/ops.h"
#include "graph/contract/subgraph_builder.h"
#include "tests/support/op_harness.h"

using namespace ondine;
using namespace ondine::test;
using namespace ondine::graph;  // NOLINT

namespace {

// A body under construction: i, go_on and the carried values.
struct LoopBody {
  LoopBody(Builder& b, std::span<const Val> starts) : body(b) {
    i = body.add_formal("i", Type::tensor(DType::int64, Dims{}));
    go_on = body.add_formal("go_on", Type::tensor(DType::boolean, Dims{}));
    for (const Val start : starts) {
      Type type = start.type();
      if (type.dims) type.dims->assign(type.dims->size(), Dim());
      carried.push_back(body.add_formal("v", type));
    }
  }

  std::vector<Val> finish(Builder& b, std::int64_t times, const std::vector<Val>& starts,
                          std::vector<Val> results) {
    results.insert(results.begin(), body.builder().node("Identity", {go_on}));
    std::vector<Val> inputs{b.int64(times), Val()};
    inputs.insert(inputs.end(), starts.begin(), starts.end());
    const std::size_t outputs = results.size() - 1;
    return control_node(b, "Loop", inputs, {body.finish("body", results)}, outputs);
  }

  SubgraphBuilder body;
  Val i, go_on;
  std::vector<Val> carried;
};

// Dims change in the loops, so that those of the case cannot be chosen freely.
const GradientCheck loose{.order = 2, .closeness = {1e-5, 1e-6}, .variants = false};

}  // namespace

TEST_CASE("a Loop may carry a tensor that grows") {
  check_gradient(
      [](Builder& b, std::span<const Val> x) -> std::vector<Val> {
        const std::vector<Val> starts{x[0]};
        LoopBody loop(b, starts);
        const Val v = loop.carried[0];
        const Val w = loop.body.capture(x[1]);
        const std::array parts{v * v, w};
        const Val grown = concat(parts, 0);
        const Val total = reduce_sum(grown * grown, {}, false);
        const auto out = loop.finish(b, 3, starts, {grown, total});
        return {out[0], out[1]};
      },
      {random_tensor({2}, 1, 0.5, 1.1), random_tensor({1}, 2, 0.5, 1.1)}, loose);
}

TEST_CASE("a Loop may carry a tensor that shrinks") {
  check_gradient(
      [](Builder& b, std::span<const Val> x) -> std::vector<Val> {
        const std::vector<Val> starts{x[0]};
        LoopBody loop(b, starts);
        const Val v = loop.carried[0];
        return loop.finish(b, 2, starts, {slice(v, 1, 1000, 0) * slice(v, 0, -1, 0)});
      },
      {random_tensor({5}, 1, 0.5, 1.5)}, loose);
}

TEST_CASE("a Loop may fill a sequence") {
  check_gradient(
      [](Builder& b, std::span<const Val> x) -> std::vector<Val> {
        const std::vector<Val> starts{b.node("SequenceConstruct", {x[0] * x[0]}), x[0]};
        LoopBody loop(b, starts);
        const Val w = loop.body.capture(x[1]);
        const Val v = loop.carried[1] * w;
        const Val longer = loop.body.builder().node("SequenceInsert", {loop.carried[0], v * v});
        const auto out = loop.finish(b, 3, starts, {longer, v});
        const Val all = b.node("ConcatFromSequence", {out[0]}, {{"axis", std::int64_t{0}}});
        return {all * all, out[1]};
      },
      {random_tensor({3}, 1, 0.5, 1.5), random_tensor({3}, 2, 0.5, 1.5)}, loose);
}

TEST_CASE("a Loop may read an outer sequence and take elements out of a carried one") {
  check_gradient(
      [](Builder& b, std::span<const Val> x) -> std::vector<Val> {
        const Val rows = b.node("SplitToSequence", {x[0]}, {{"keepdims", std::int64_t{0}}});
        const std::vector<Val> starts{rows, x[1]};
        LoopBody loop(b, starts);
        Builder& inner = loop.body.builder();
        const Val row = inner.node("SequenceAt", {loop.body.capture(rows), loop.i});
        const Val last = inner.node("SequenceAt", {loop.carried[0], inner.int64(-1)});
        const Val fewer = inner.node("SequenceErase", {loop.carried[0]});
        const auto out = loop.finish(b, 3, starts, {fewer, loop.carried[1] * row + last * last});
        return {out[1], b.node("SequenceAt", {out[0], b.int64(0)})};
      },
      {random_tensor({4, 2}, 1, 0.5, 1.5), random_tensor({2}, 2, 0.5, 1.5)}, loose);
}

TEST_CASE("a Loop may carry an optional") {
  check_gradient(
      [](Builder& b, std::span<const Val> x) -> std::vector<Val> {
        const std::vector<Val> starts{unary("Optional", x[0])};
        LoopBody loop(b, starts);
        const Val held = unary("OptionalGetElement", loop.carried[0]);
        const Val w = loop.body.capture(x[1]);
        const auto out = loop.finish(b, 2, starts, {unary("Optional", held * held + w)});
        return {unary("OptionalGetElement", out[0])};
      },
      {random_tensor({3}, 1, 0.5, 1.5), random_tensor({3}, 2, 0.5, 1.5)}, loose);
}

TEST_CASE("a Loop that is not entered passes derivatives on") {
  check_gradient(
      [](Builder& b, std::span<const Val> x) -> std::vector<Val> {
        const std::vector<Val> starts{x[0]};
        LoopBody loop(b, starts);
        const auto out = loop.finish(b, 0, starts, {loop.carried[0] * loop.body.capture(x[1])});
        return {out[0] * out[0]};
      },
      {random_tensor({3}, 1), random_tensor({3}, 2)}, loose);
}

TEST_CASE("a sequence that leaves an If has a derivative") {
  check_gradient(
      [](Builder& b, std::span<const Val> x) -> std::vector<Val> {
        const Val rows = b.node("SplitToSequence", {x[0]});
        std::vector<Subgraph> subgraphs;
        for (const bool first : {true, false}) {
          SubgraphBuilder branch(b);
          const Val inside = branch.capture(rows);
          const Val row = branch.builder().node("SequenceAt", {inside, branch.builder().int64(1)});
          const std::array out{first ? branch.builder().node("SequenceInsert", {inside, row * row})
                                     : branch.builder().node("SequenceErase", {inside})};
          subgraphs.push_back(branch.finish(first ? "then_branch" : "else_branch", out));
        }
        const Val sum = reduce_sum(x[0], {}, false);
        const std::array condition{greater(sum, scalar_like(sum, 0))};
        const Val chosen = control_node(b, "If", condition, subgraphs, 1)[0];
        const Val all = b.node("ConcatFromSequence", {chosen}, {{"axis", std::int64_t{0}}});
        return {all * all};
      },
      {GENERATE(random_tensor({3, 2}, 1, 0.5, 1.5), random_tensor({3, 2}, 1, -1.5, -0.5))}, loose);
}

TEST_CASE("a Scan has derivatives by its states, its inputs and what its body captures") {
  const std::int64_t backwards = GENERATE(0, 1);
  check_gradient(
      [backwards](Builder& b, std::span<const Val> x) -> std::vector<Val> {
        SubgraphBuilder body(b);
        const Type row = Type::tensor(DType::float64, Dims{Dim()});
        const Val state = body.add_formal("s", row);
        const Val slice_of_x = body.add_formal("x", row);
        const Val next = unary("Tanh", state * slice_of_x + body.capture(x[2]));
        const std::array out{next, next * slice_of_x};
        const std::array inputs{x[0], x[1]};
        using Int64s = std::vector<std::int64_t>;
        return control_node(b, "Scan", inputs, {body.finish("body", out)}, 2,
                            {{"num_scan_inputs", std::int64_t{1}},
                             {"scan_input_axes", Int64s{1}},
                             {"scan_input_directions", Int64s{backwards}},
                             {"scan_output_axes", Int64s{1}},
                             {"scan_output_directions", Int64s{backwards}}});
      },
      {random_tensor({2}, 1), random_tensor({2, 3}, 2), random_tensor({2}, 3)});
}

TEST_CASE(
    "a SequenceMap has derivatives by its sequence, other inputs and what its body captures") {
  check_gradient(
      [](Builder& b, std::span<const Val> x) -> std::vector<Val> {
        const Val rows = b.node("SplitToSequence", {x[0]}, {{"keepdims", std::int64_t{0}}});
        SubgraphBuilder body(b);
        const Type row = Type::tensor(DType::float64, Dims{Dim()});
        const Val element = body.add_formal("row", row);
        const Val factor = body.add_formal("factor", row);
        const std::array out{unary("Tanh", element * factor) + body.capture(x[2])};
        const std::array inputs{rows, x[1]};
        const Val mapped = control_node(b, "SequenceMap", inputs, {body.finish("body", out)}, 1)[0];
        return {b.node("ConcatFromSequence", {mapped}, {{"axis", std::int64_t{0}}})};
      },
      {random_tensor({3, 2}, 1), random_tensor({2}, 2), random_tensor({2}, 3)}, loose);
}
