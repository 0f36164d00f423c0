// Arithmetic of dims, and what an inference rule learns of its inputs.
#include "graph/contract/infer.h"

#include <catch2/catch.hpp>

#include <ondine/error.h>

using namespace ondine;
using namespace ondine::graph;

namespace {

const Dim open;
const Dim n = Dim::symbolic(0);
const Dim m = Dim::symbolic(1);
constexpr std::int64_t most = INT64_MAX;

using Ints = std::vector<std::int64_t>;

struct Case {
  Node node;
  Type type;
  Tensor constant;
  std::optional<Dims> dims;
  bool read = false;
  std::vector<InferContext::Input> inputs;

  // One input, of which `elements` or `some` are known.
  explicit Case(const Tensor& elements, std::optional<Dims> some = {})
      : type(Type::tensor(elements.dtype(), elements.shape())),
        constant(elements),
        dims(std::move(some)) {
    node.inputs = {0, no_value};
    node.outputs = {1};
    inputs = {{&type, dims ? nullptr : &constant, dims ? &*dims : nullptr, &read}, {}};
  }
  InferContext context() const { return InferContext(node, inputs); }
};

}  // namespace

TEST_CASE("dims that must agree have the size or name of either") {
  CHECK(unify(2, 2, "rows") == Dim(2));
  CHECK(unify(2, n, "rows") == Dim(2));
  CHECK(unify(open, 2, "rows") == Dim(2));
  CHECK(unify(n, open, "rows") == n);
  CHECK(unify(open, n, "rows") == n);
  CHECK(unify(n, m, "rows") == n);
  CHECK(unify(open, open, "rows") == open);
  CHECK_THROWS_WITH(unify(2, 3, "rows"), Catch::Contains("rows differ: 2 and 3"));
}

TEST_CASE("shapes broadcast from their ends, whatever is known of them") {
  struct Row {
    Dims a, b, result;
  };
  for (const Row& row : std::vector<Row>{
           {{2, 3}, {2, 3}, {2, 3}},
           {{2, 3}, {3}, {2, 3}},
           {{2, 1}, {1, 3}, {2, 3}},
           {{}, {4}, {4}},
           {{}, {}, {}},
           {{0}, {1}, {0}},
           {{n}, {n}, {n}},
           {{n}, {1}, {n}},
           {{n}, {5}, {5}},
           {{open}, {5}, {5}},
           {{n}, {m}, {open}},
           {{n}, {open}, {open}},
           {{open}, {1}, {open}},
           {{7, n, 1}, {m, 4}, {7, open, 4}},
       }) {
    INFO(to_string(row.a) << " and " << to_string(row.b));
    CHECK(broadcast(row.a, row.b) == row.result);
    CHECK(broadcast(row.b, row.a) == row.result);
  }
  CHECK_THROWS_WITH(broadcast({4, 2}, {3}),
                    Catch::Contains("shapes [4, 2] and [3] do not broadcast: dims 2 and 3"));
  CHECK_THROWS_WITH(broadcast({0}, {2}), Catch::Contains("dims 0 and 2"));
}

TEST_CASE("dims are multiplied and added where they are known or times a symbol, up to 2^63") {
  struct Row {
    Dim a, b, product, sum;
  };
  for (const Row& row : {
           Row{2, 3, 6, 5},
           Row{0, n, 0, n},
           Row{1, n, n, open},
           Row{1, open, open, open},
           Row{2, n, Dim::multiple(2, 0), open},
           Row{3, Dim::multiple(2, 0), Dim::multiple(6, 0), open},
           Row{most, n, open, open},
           Row{most, Dim::multiple(2, 0), open, open},
           Row{2, open, open, open},
           Row{n, n, open, open},
           Row{0, 0, 0, 0},
           Row{0, most, 0, most},
           Row{1, most - 1, most - 1, most},
       }) {
    CHECK(multiply(row.a, row.b) == row.product);
    CHECK(multiply(row.b, row.a) == row.product);
    CHECK(add(row.a, row.b) == row.sum);
    CHECK(add(row.b, row.a) == row.sum);
  }
  CHECK_THROWS_WITH(multiply(2, most), Catch::Contains("size of a dim overflows: 2 * "));
  CHECK_THROWS_WITH(add(1, most), Catch::Contains("size of a dim overflows: 1 + "));
  const Dims dims{2, 3, n, 1};
  CHECK(product(dims) == Dim::multiple(6, 0));
  CHECK(product(std::span(dims).first(2)) == Dim(6));
  CHECK(product(std::span(dims).subspan(2)) == n);
  CHECK(product({}) == Dim(1));
}

TEST_CASE("a rule reads the known integers of its inputs, which dims are not negative") {
  const Case full(Tensor::of<std::int64_t>({3}, {2, 0, 5}));
  CHECK(full.context().known_dims(0) == Dims{2, 0, 5});
  CHECK(full.context().known_ints(0) == Ints{2, 0, 5});
  const Case narrow(Tensor::of<std::int32_t>({2}, {2, 7}));
  CHECK(narrow.context().known_dims(0) == Dims{2, 7});
  CHECK(narrow.context().known_ints(0) == Ints{2, 7});
  const Case negative(Tensor::of<std::int64_t>({2}, {-1, 7}));
  CHECK_FALSE(negative.context().known_dims(0));
  CHECK(negative.context().known_ints(0) == Ints{-1, 7});
  const Case scalar(Tensor::scalar(std::int64_t{4}));
  CHECK(scalar.context().known_dims(0) == Dims{4});
  const Case matrix(Tensor::of<std::int64_t>({1, 2}, {3, 4}));
  CHECK_FALSE(matrix.context().known_dims(0));
  CHECK(matrix.context().known_ints(0) == Ints{3, 4});
  const Case floats(Tensor::of<float>({2}, {3, 4}));
  CHECK_FALSE(floats.context().known_dims(0));
  CHECK_FALSE(floats.context().known_ints(0));
  CHECK(floats.context().constant(0) != nullptr);
}

TEST_CASE("of integers that are partly known a rule reads dims") {
  const Case some(Tensor(DType::int64, {2}), Dims{n, 4});
  CHECK(some.context().known_dims(0) == Dims{n, 4});
  CHECK_FALSE(some.context().known_ints(0));
  const Case all(Tensor(DType::int64, {2}), Dims{3, 4});
  CHECK(all.context().known_ints(0) == Ints{3, 4});
  Case none(Tensor(DType::int64, {2}));
  none.inputs[0].constant = nullptr;
  CHECK_FALSE(none.context().known_dims(0));
  CHECK_FALSE(none.context().known_ints(0));
}

TEST_CASE("a rule that reads elements is known to have read them") {
  const auto reads = [](const Tensor& elements, auto look) {
    Case one(elements);
    look(one.context());
    return one.read;
  };
  const Tensor ints = Tensor::of<std::int64_t>({1}, {2});
  CHECK(reads(ints, [](const InferContext& c) { c.constant(0); }));
  CHECK(reads(ints, [](const InferContext& c) { c.known_dims(0); }));
  CHECK(reads(ints, [](const InferContext& c) { c.known_ints(0); }));
  CHECK_FALSE(reads(ints, [](const InferContext& c) { c.dims(0); }));
  CHECK_FALSE(reads(ints, [](const InferContext& c) { c.constant(1); }));
  CHECK_FALSE(reads(Tensor::scalar(1.0F), [](const InferContext& c) { c.known_ints(0); }));
}

TEST_CASE("inputs that are left out are missing, not unknown") {
  const Case one(Tensor::scalar(1.0F));
  const InferContext context = one.context();
  CHECK_THROWS_WITH(context.input(1), Catch::Contains("input 1 is missing"));
  CHECK_THROWS_WITH(context.input(2), Catch::Contains("input 2 is missing"));
  CHECK(context.constant(1) == nullptr);
  CHECK(context.constant(2) == nullptr);
  CHECK_FALSE(context.known_dims(1));
  CHECK_FALSE(context.known_ints(2));
  CHECK_THROWS_WITH(context.infer_subgraph(0, {}), Catch::Contains("cannot be inferred here"));
}

TEST_CASE("broadcast operators take inputs of one element type, some of which may be left out") {
  const Type matrix = Type::tensor(DType::float32, Dims{2, 1});
  const Type row = Type::tensor(DType::float32, Dims{3});
  const Type unranked = Type::tensor(DType::float32);
  const Type other = Type::tensor(DType::float64, Dims{3});
  const auto infer = [](const std::vector<const Type*>& types) {
    Node node;
    std::vector<InferContext::Input> inputs;
    for (std::size_t i = 0; i < types.size(); ++i) {
      node.inputs.push_back(types[i] != nullptr ? static_cast<ValueId>(i) : no_value);
      inputs.push_back({types[i]});
    }
    node.outputs = {9};
    InferContext context(node, inputs);
    infer_broadcast(context);
    return context.outputs()[0].type;
  };
  CHECK(infer({&matrix, &row}) == Type::tensor(DType::float32, Dims{2, 3}));
  CHECK(infer({&matrix, &unranked}) == unranked);
  CHECK_THROWS_WITH(infer({&matrix, &row, &other}),
                    Catch::Contains("inputs 0 and 2 differ in dtype: float and double"));
  Node node;
  node.inputs = {0, no_value, 1};
  const std::vector<InferContext::Input> inputs{{&matrix}, {}, {&row}};
  CHECK(broadcast_inputs(InferContext(node, inputs)) == Dims{2, 3});
}

TEST_CASE("outputs that a node does not have are passed over") {
  const Case one(Tensor::scalar(1.0F));
  InferContext context = one.context();
  context.set_output(0, DType::int64, Dims{2});
  context.set_known_dims(0, {n, 3});
  context.set_output(1, DType::int64, Dims{2});
  context.set_known_dims(1, {n, 3});
  REQUIRE(context.outputs().size() == 1);
  CHECK(context.outputs()[0].type == Type::tensor(DType::int64, Dims{2}));
  CHECK(context.outputs()[0].known_dims == Dims{n, 3});
}
