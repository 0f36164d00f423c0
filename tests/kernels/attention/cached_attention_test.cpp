// CachedAttention is ScaledAttention of keys and values that are joined first.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include <ondine/error.h>

#include "graph/contract/catalogue.h"
#include "graph/evaluate/graph_runner.h"
#include "tests/support/op_harness.h"

namespace ondine::test {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

struct Setting {
  std::int64_t queries = 1, past = 70;
  bool rows_first = false, interleaved = false;
  std::int64_t heads = 2;  // of keys; there are 4 of queries
  Shape mask = {};         // 0 dims: none
  bool more = false;
  float cap = 0;
};

constexpr std::int64_t samples = 2, heads = 4, size = 12, v_size = 20;

Tensor rows(std::int64_t of, std::int64_t count, std::int64_t width, bool first,
            std::uint64_t seed) {
  return random_floats(first ? Shape{samples, count, of, width} : Shape{samples, of, count, width},
                       seed);
}

// Hides places in the middle of the earlier keys, and many at both of their ends.
Tensor mask_of(const Setting& s) {
  Tensor mask = random_floats(s.mask, 9);
  const std::int64_t keys = s.mask[s.mask.rank() - 1];
  auto values = mask.mutable_values<float>();
  for (std::int64_t i = 0; i < mask.size(); ++i) {
    const std::int64_t j = i % keys;
    const bool hidden = j == 30 || (j >= 5 && j < 9) || j < 2 || (j > 50 && j < s.past);
    if (hidden && keys > 1) {
      values[static_cast<std::size_t>(i)] = j % 2 == 0 ? -infinity : -3e38F;
    }
  }
  return mask;
}

struct Cases {
  OpCase cached, joined;
};

Cases cases(const Setting& s) {
  const bool first = s.rows_first || s.interleaved;
  const Tensor q = rows(heads, s.queries, size, s.interleaved, 1);
  std::vector<Value> parts{q}, whole{q};
  for (const std::int64_t width : {size, v_size}) {
    const auto seed = static_cast<std::uint64_t>(width);
    parts.emplace_back(rows(s.heads, s.past, width, first, seed));
    parts.emplace_back(rows(s.heads, s.queries, width, first, seed + 1));
    OpCase join{"Concat", {parts.end() - 2, parts.end()}, {{"axis", first ? 1L : 2L}}};
    Tensor all = run_op_tensor(join);
    if (first && !s.interleaved) {
      all = run_op_tensor({"Transpose", {all}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}}});
    }
    whole.emplace_back(all);
  }
  if (s.mask.rank() > 0 || s.more) {
    const Value mask = s.mask.rank() > 0 ? Value(mask_of(s)) : Value();
    for (auto* inputs : {&parts, &whole}) inputs->push_back(mask);
  }
  if (s.more) {
    for (auto* inputs : {&parts, &whole}) {
      inputs->emplace_back(random_floats({heads, 1, s.past + s.queries}, 7));
    }
  }
  const graph::Attributes attributes{{"scale", 0.3F},
                                     {"softcap", s.cap},
                                     {"zero_rows", 1L},
                                     {"interleaved", std::int64_t{s.interleaved}}};
  Cases result{{"CachedAttention", parts, attributes}, {"ScaledAttention", whole, attributes}};
  result.cached.attributes.emplace_back("rows_first", std::int64_t{s.rows_first});
  result.cached.domain = result.joined.domain = std::string(graph::ondine_domain);
  return result;
}

// The result of the operators that the node stands for.
Tensor expanded(const OpCase& one) {
  graph::Graph graph;
  graph::Builder builder(graph, catalogue());
  builder.set_expand([](const graph::Node& node) { return node.op->name == "CachedAttention"; });
  std::vector<graph::Val> inputs;
  for (const Value& value : one.inputs) {
    graph.inputs.push_back(graph.add_temporary("x", graph::type_of(value)));
    inputs.push_back(builder.value(graph.inputs.back()));
  }
  graph.outputs = {builder.nodes(one.op, inputs, one.attributes, 1, one.domain)[0].id()};
  return graph::evaluate(graph, one.inputs).at(0).tensor();
}

void check_same(const Setting& s) {
  CAPTURE(s.queries, s.past, s.rows_first, s.interleaved, s.heads, s.mask.rank(), s.more);
  const Cases both = cases(s);
  check_close(run_op_tensor(both.cached), run_op_tensor(both.joined), {1e-5, 1e-6});
}

}  // namespace

TEST_CASE("CachedAttention is attention to earlier and new rows together, however they lie") {
  for (const std::int64_t queries : {1, 3, 4, 5, 33}) {
    for (const std::int64_t past : {0, 1, 70}) {
      for (const std::int64_t shared : {1, 2, 4}) {
        check_same({.queries = queries, .past = past, .heads = shared});
        check_same({.queries = queries, .past = past, .rows_first = true, .heads = shared});
        check_same({.queries = queries, .past = past, .interleaved = true, .heads = shared});
      }
    }
  }
}

TEST_CASE("CachedAttention passes over keys that a mask hides and takes all kinds of masks") {
  for (const std::int64_t queries : {1, 3, 9}) {
    const std::int64_t keys = 70 + queries;
    for (const Shape& mask : {Shape{keys}, Shape{1, 1, queries, keys}, Shape{samples, 1, 1, keys},
                              Shape{heads, queries, keys}, Shape{heads, queries, 1}}) {
      check_same({.queries = queries, .mask = mask});
      check_same({.queries = queries, .rows_first = true, .mask = mask, .more = true});
      check_same({.queries = queries, .interleaved = true, .mask = mask, .cap = 2});
    }
  }
}

TEST_CASE("CachedAttention gives 0 for a query that sees no key, and the same for the others") {
  Setting s{.queries = 3, .mask = {3, 73}};
  Cases both = cases(s);
  Tensor mask = both.cached.inputs[5].tensor();
  for (std::size_t j = 73; j < 146; ++j) mask.mutable_values<float>()[j] = -infinity;
  both.cached.inputs[5] = both.joined.inputs[3] = mask;
  const Tensor y = run_op_tensor(both.cached);
  check_close(y, run_op_tensor(both.joined), {1e-5, 1e-6});
  CHECK(y.values<float>()[static_cast<std::size_t>(v_size)] == 0);
  // A mask of -1e30 hides a key only from those that see another.
  for (std::size_t j = 73; j < 146; ++j) mask.mutable_values<float>()[j] = -1e30F;
  both.cached.inputs[5] = both.joined.inputs[3] = mask;
  check_close(run_op_tensor(both.cached), run_op_tensor(both.joined), {1e-5, 1e-6});
}

TEST_CASE("CachedAttention is what its expansion is") {
  for (const bool rows_first : {false, true}) {
    for (const bool interleaved : {false, true}) {
      const OpCase one = cases({.queries = 2,
                                .past = 6,
                                .rows_first = rows_first,
                                .interleaved = interleaved,
                                .mask = {2, 8},
                                .more = true})
                             .cached;
      check_close(run_op_tensor(one), expanded(one), {1e-5, 1e-6});
    }
  }
}

TEST_CASE("CachedAttention rejects what does not fit") {
  const auto refused = [](std::size_t input, const Tensor& instead) {
    OpCase one = cases({}).cached;
    one.inputs[input] = instead;
    CHECK_THROWS_AS(run_op(one), Error);
  };
  refused(0, random_floats({samples, 3, 1, size}, 1));
  refused(0, random_floats({samples, heads, 2, size}, 1));
  refused(1, random_floats({samples, 2, 70, size + 1}, 1));
  refused(2, random_floats({samples, 1, 1, size}, 1));
  refused(3, random_floats({samples, 2, 69, v_size}, 1));
  refused(4, random_floats({2, 1, v_size}, 1));
  refused(1, random_tensor({samples, 2, 70, size}, 1));
}

}  // namespace ondine::test
