// Transposed matrices that products read and write as they are.
#include <catch2/catch.hpp>

#include "tests/graph/passes/toy.h"

namespace ondine::test {
namespace {

using namespace graph;  // NOLINT

void infer_any(InferContext& context) { context.set_output(0, Type::tensor(DType::float32)); }

const OpDef matmul_op{.name = "MatMul", .infer = infer_any};
const OpDef gemm_op{.name = "Gemm", .infer = infer_any};
const OpDef flagged_op{.name = "MatMulT", .domain = ondine_domain, .infer = infer_any};

const Catalogue& products() {
  static const std::vector<const OpDef*> list{&matmul_op, &gemm_op, &flagged_op, &toy_transpose};
  static const Catalogue catalogue(list);
  return catalogue;
}

struct Product {
  Graph graph;
  Builder builder{graph, products()};

  Val input(const Type& type) {
    graph.inputs.push_back(graph.add_temporary("x", type));
    return builder.value(graph.inputs.back());
  }
  Val matrix(std::int64_t rows, std::int64_t columns) {
    return builder.constant(Tensor(DType::float32, {rows, columns}));
  }
  Val transposed(Val of, std::vector<std::int64_t> perm = {1, 0}) {
    return builder.node("Transpose", {of}, {{"perm", std::move(perm)}});
  }
  // Whether the pass changed something; the last node is the product.
  bool run(const Catalogue* catalogue = &products()) {
    PassContext context;
    context.catalogue = catalogue;
    return run_pass(graph, absorb_transposes, context);
  }
  const Node& last() const { return graph.nodes.back(); }
  std::int64_t flag(const char* name) const { return NodeView(last()).attr_int(name, 0); }
};

const Type wide = Type::tensor(DType::float32, Shape{4, 256});

}  // namespace

TEST_CASE("MatMul reads a transposed constant as it is stored, on either side") {
  for (const bool left : {false, true}) {
    Product p;
    const Val x = p.input(left ? Type::tensor(DType::float32, Shape{256, 4}) : wide);
    const Val w = p.matrix(256, 256);
    const Val t = p.transposed(w);
    p.builder.node("MatMul", {left ? t : x, left ? x : t});
    CHECK(p.run());
    CHECK(p.last().op == &flagged_op);
    CHECK(p.last().version == 1);
    CHECK(p.last().inputs[left ? 0 : 1] == w.id());
    CHECK(p.last().inputs[left ? 1 : 0] == x.id());
    CHECK(p.flag("transA") == (left ? 1 : 0));
    CHECK(p.flag("transB") == (left ? 0 : 1));
    CHECK_FALSE(p.run());
  }
}

TEST_CASE("Gemm and products with flags turn the flag that they have") {
  for (const std::int64_t before : {0, 1}) {
    for (const bool gemm : {false, true}) {
      Product p;
      const Val x = p.input(wide);
      const Val w = p.matrix(256, 256);
      const std::string_view domain = gemm ? std::string_view() : ondine_domain;
      p.builder.node(gemm ? "Gemm" : "MatMulT", {x, p.transposed(w)}, {{"transB", before}}, domain);
      const std::int64_t version = p.last().version;
      CHECK(p.run());
      CHECK(p.last().op == (gemm ? &gemm_op : &flagged_op));
      CHECK(p.last().version == version);
      CHECK(p.last().inputs[1] == w.id());
      CHECK(p.flag("transB") == 1 - before);
      CHECK(p.last().attributes.size() == 1);
    }
  }
}

TEST_CASE("small constants, other values, other axes and vectors stay as they are") {
  const auto stays = [](const char* op, const auto& right, const Type& left = wide) {
    Product p;
    const Val x = p.input(left);
    p.builder.node(op, {x, right(p)});
    const std::vector<ValueId> inputs = p.last().inputs;
    const bool changed = p.run();
    CHECK(p.last().inputs == inputs);
    CHECK((p.last().op == &matmul_op || p.last().op == &gemm_op));
    return !changed;
  };
  const auto large = [](Product& p) { return p.transposed(p.matrix(256, 256)); };
  for (const char* op : {"MatMul", "Gemm"}) {
    CHECK(stays(op, [](Product& p) { return p.transposed(p.matrix(256, 255)); }));  // too small
    CHECK(stays(op, [](Product& p) { return p.matrix(256, 256); }));
    CHECK(stays(op, [](Product& p) { return p.transposed(p.input(wide)); }));
    CHECK(stays(op, [](Product& p) { return p.transposed(p.matrix(256, 256), {0, 1}); }));
  }
  CHECK(stays("MatMul", large, Type::tensor(DType::float32, Shape{256})));
  CHECK(stays("MatMul", large, Type::tensor(DType::float32)));
}

TEST_CASE("nothing changes without a product that has flags") {
  Product p;
  const Val x = p.input(wide);
  p.builder.node("MatMul", {x, p.transposed(p.matrix(256, 256))});
  CHECK_FALSE(p.run(nullptr));
  const std::vector<const OpDef*> list{&matmul_op, &toy_transpose};
  const Catalogue without(list);
  CHECK_FALSE(p.run(&without));
  CHECK(p.run());
}

TEST_CASE("a large matrix that products alone read transposed is read as it is") {
  const Type square = Type::tensor(DType::float32, Shape{256, 256});
  const auto absorbed = [](const Type& type, auto&& more) {
    Product p;
    const Val x = p.input(wide);
    const Val w = p.input(type);
    const Val t = p.transposed(w);
    p.builder.node("MatMul", {x, t});
    const std::size_t first = p.graph.nodes.size() - 1;
    more(p, x, t);
    const bool changed = p.run();
    CHECK((p.graph.nodes[first].inputs[1] == w.id()) == changed);
    CHECK((p.graph.nodes[first].op == &flagged_op) == changed);
    return changed;
  };
  const auto nothing = [](Product&, Val, Val) {};
  CHECK(absorbed(square, nothing));
  CHECK(absorbed(square, [](Product& p, Val x, Val t) { p.builder.node("Gemm", {x, t}); }));
  CHECK(absorbed(square, [](Product& p, Val, Val t) { p.builder.node("MatMul", {t, t}); }));
  CHECK_FALSE(absorbed(square, [](Product& p, Val, Val t) { p.transposed(t); }));
  CHECK_FALSE(absorbed(square, [](Product& p, Val, Val t) { p.graph.outputs.push_back(t.id()); }));
  CHECK_FALSE(absorbed(Type::tensor(DType::float32, Shape{256, 255}), nothing));
  CHECK(absorbed(Type::tensor(DType::float64, Shape{256, 255}), nothing));
  CHECK_FALSE(absorbed(Type::tensor(DType::float32, Dims{Dim(), 256}), nothing));
}

TEST_CASE("products of bodies read transposed matrices as they are") {
  const Type square = Type::tensor(DType::float32, Shape{256, 256});
  Graph body;
  body.inputs = {body.add_value("x", square), body.add_value("w", square)};
  Builder inner(body, products());
  const Val x = inner.value(body.inputs[0]);
  const Val w = inner.value(body.inputs[1]);
  body.outputs = {inner.node("Gemm", {x, inner.node("Transpose", {w})}).id()};
  Product p;
  const Val outer = p.input(square);
  Node call;
  call.op = &toy_call;
  call.subgraphs = {{"body", std::make_shared<Graph>(body), {outer.id(), outer.id()}}};
  call.outputs = {p.graph.add_temporary("called")};
  p.graph.nodes.push_back(call);
  CHECK(p.run());
  CHECK(p.last().subgraphs[0].graph->nodes.back().inputs[1] == w.id());
  CHECK_FALSE(p.run());
}

TEST_CASE("a transposed Gemm is that of its factors in reverse") {
  const Type square = Type::tensor(DType::float32, Shape{256, 256});
  const auto reversed = [&](const Attributes& attributes, auto&& more) {
    Product p;
    const Val a = p.input(square);
    const Val b = p.input(square);
    const Val y = p.builder.node("Gemm", {a, b}, attributes);
    p.graph[y.id()].type = square;
    p.graph.nodes.back().version = 7;
    more(p, y);
    p.transposed(y);
    if (!p.run()) {
      CHECK(p.last().op == &toy_transpose);
      return std::vector<double>{};
    }
    CHECK(p.last().op == &gemm_op);
    CHECK(p.last().version == 7);
    CHECK(p.last().inputs == std::vector<ValueId>{b.id(), a.id()});
    return std::vector<double>{static_cast<double>(p.flag("transA")),
                               static_cast<double>(p.flag("transB")),
                               NodeView(p.last()).attr_float("alpha", 1)};
  };
  using Flags = std::vector<double>;
  const auto nothing = [](Product&, Val) {};
  CHECK(reversed({}, nothing) == Flags{1, 1, 1});
  CHECK(reversed({{"transA", 1L}}, nothing) == Flags{1, 0, 1});
  CHECK(reversed({{"transB", 1L}, {"alpha", 0.5F}}, nothing) == Flags{0, 1, 0.5});
  CHECK(reversed({{"transA", 1L}, {"transB", 1L}}, nothing) == Flags{0, 0, 1});
  // With a C, another reader, another size or an old version it stays.
  CHECK(reversed({}, [](Product& p, Val) {
          p.graph.nodes.back().inputs.push_back(p.graph.inputs[0]);
        }).empty());
  CHECK(reversed({}, [](Product& p, Val y) { p.builder.node("MatMul", {y, y}); }).empty());
  CHECK(reversed({}, [](Product& p, Val y) { p.graph.outputs.push_back(y.id()); }).empty());
  CHECK(reversed({}, [](Product& p, Val y) { p.graph[y.id()].type = wide; }).empty());
  CHECK(reversed({}, [](Product& p, Val) { p.graph.nodes.back().version = 6; }).empty());
}

}  // namespace ondine::test
