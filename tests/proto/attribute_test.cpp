// Attributes, types and graphs that contradict themselves, from bytes made by hand.
#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include <ondine/error.h>

#include "proto/import.h"
#include "tests/proto/wire.h"

using namespace ondine;
using test::Wire;

namespace {

Wire model(const Wire& graph) { return Wire().number(1, 10).message(7, graph); }

Wire with_attribute(const Wire& attribute) {
  const Wire node = Wire().block(4, "Op").block(3, "culprit").message(5, attribute);
  return model(Wire().block(2, "g").message(1, node));
}

Wire with_input(const Wire& type) {
  return model(Wire().message(11, Wire().block(1, "culprit").message(2, type)));
}

graph::Attribute attribute_of(const Wire& attribute) {
  return load_model(with_attribute(attribute).bytes()).graph.nodes[0].attributes[0];
}

void check_refused(const Wire& wire, const std::string& why, const Limits& limits = {}) {
  try {
    load_model(wire.bytes(), limits);
    FAIL_CHECK("accepted: " << why);
  } catch (const Error& error) {
    INFO(error.what());
    CHECK(error.message().find(why) != std::string::npos);
    CHECK(std::string(error.what()).find("culprit") != std::string::npos);
  }
}

Wire named() { return Wire().block(1, "a"); }

}  // namespace

TEST_CASE("an attribute's value is in the field that its type names") {
  check_refused(with_attribute(named().number(3, 1)), "there is no type");
  check_refused(with_attribute(named().number(20, 1).number(3, 1)),
                "the type is FLOAT, but the value is INT");
  check_refused(with_attribute(named().number(20, 2).number(3, 1).block(4, "s")),
                "two values, INT and STRING");
  check_refused(with_attribute(named().number(20, 7).number(3, 1)),
                "the type is INTS, but the value is INT");
  check_refused(with_attribute(named().number(20, 4)), "the type is TENSOR, but there is no value");
  check_refused(with_attribute(named().number(20, 5)), "the type is GRAPH, but there is no value");
  check_refused(with_attribute(named().number(20, 2).number(3, 1).block(21, "outer")),
                "both a value and a reference");
}

TEST_CASE("a value of any kind under the type of another, or beside another value, is refused") {
  struct Kind {
    std::uint64_t type;
    std::string name;
    Wire value;
  };
  const Wire tensor = Wire().number(1, 1).number(2, 1).block(9, "1234");
  const Wire graph = Wire().block(2, "g");
  const Wire sparse = Wire().message(1, tensor).message(2, tensor).number(3, 1);
  const Wire type = Wire().message(1, Wire().number(1, 1));
  const std::vector<Kind> kinds{{1, "FLOAT", Wire().fixed32(2, 1)},
                                {2, "INT", Wire().number(3, 1)},
                                {3, "STRING", Wire().block(4, "s")},
                                {4, "TENSOR", Wire().message(5, tensor)},
                                {5, "GRAPH", Wire().message(6, graph)},
                                {6, "FLOATS", Wire().fixed32(7, 1)},
                                {7, "INTS", Wire().number(8, 1)},
                                {8, "STRINGS", Wire().block(9, "s")},
                                {9, "TENSORS", Wire().message(10, tensor)},
                                {10, "GRAPHS", Wire().message(11, graph)},
                                {11, "SPARSE_TENSOR", Wire().message(22, sparse)},
                                {12, "SPARSE_TENSORS", Wire().message(23, sparse)},
                                {13, "TYPE_PROTO", Wire().message(14, type)},
                                {14, "TYPE_PROTOS", Wire().message(15, type)}};
  for (const Kind& one : kinds) {
    check_refused(with_attribute(named().raw(one.value.text())), "there is no type");
    for (const Kind& other : kinds) {
      if (&one == &other) continue;
      check_refused(with_attribute(named().number(20, one.type).raw(other.value.text())),
                    "the type is " + one.name + ", but the value is " + other.name);
      const Wire both = named().number(20, one.type).raw(one.value.text() + other.value.text());
      check_refused(with_attribute(both), "there are two values, ");
      check_refused(with_attribute(both), one.name);
      check_refused(with_attribute(both), other.name);
    }
  }
}

TEST_CASE("zero may be left out, and lists may be empty") {
  CHECK(std::get<std::int64_t>(attribute_of(named().number(20, 2)).data) == 0);
  CHECK(std::get<float>(attribute_of(named().number(20, 1)).data) == 0.0F);
  CHECK(std::get<std::string>(attribute_of(named().number(20, 3)).data).empty());
  CHECK(std::get<std::vector<float>>(attribute_of(named().number(20, 6)).data).empty());
}

TEST_CASE("a reference keeps its type and has no value") {
  const auto attribute = attribute_of(named().number(20, 7).block(21, "outer"));
  CHECK(*attribute.ref == "outer");
  CHECK(attribute.kind == graph::AttributeKind::integers);
  CHECK(std::holds_alternative<std::monostate>(attribute.data));
}

TEST_CASE("lists of numbers may be packed or not") {
  const auto packed = attribute_of(named().number(20, 7).packed(8, {1, -2}));
  const auto single = attribute_of(named().number(20, 7).number(8, 1).number(8, UINT64_MAX - 1));
  CHECK(std::get<std::vector<std::int64_t>>(packed.data) == std::vector<std::int64_t>{1, -2});
  CHECK(packed.data.index() == single.data.index());
  CHECK(std::get<std::vector<std::int64_t>>(single.data)[1] == -2);
}

TEST_CASE("declared types are checked as far as they go by themselves") {
  const auto dim = [](std::uint64_t size) { return Wire().message(1, Wire().number(1, size)); };
  const auto tensor = [&](std::uint64_t dtype, const Wire& shape) {
    return Wire().message(1, Wire().number(1, dtype).message(2, shape));
  };
  CHECK_NOTHROW(load_model(with_input(tensor(1, dim(0))).bytes()));
  check_refused(with_input(tensor(1, dim(UINT64_MAX))), "dimension -1 is negative");
  // Dimensions of a sparse tensor are checked likewise.
  const Wire sparse = Wire().message(8, Wire().number(1, 1).message(2, dim(UINT64_MAX)));
  check_refused(with_input(sparse), "dimension -1 is negative");
  check_refused(with_input(tensor(77, dim(1))), "element type 77 is unknown");
  const Wire map = Wire().message(5, Wire().number(1, 99));
  check_refused(with_input(map), "element type 99 is unknown");
}

TEST_CASE("a dimension is a size, a name or neither") {
  const Wire shape = Wire()
                         .message(1, Wire().number(1, 3))
                         .message(1, Wire().block(2, "N"))
                         .message(1, Wire())
                         .message(1, Wire().block(2, ""));
  const Wire type = Wire().message(1, Wire().number(1, 1).message(2, shape));
  const auto dims = *load_model(with_input(type).bytes()).graph.inputs[0].type.dims;
  REQUIRE(dims.size() == 4);
  CHECK(std::get<std::int64_t>(dims[0]) == 3);
  CHECK(std::get<graph::DimName>(dims[1]) == "N");
  CHECK(std::holds_alternative<std::monostate>(dims[2]));
  CHECK(std::holds_alternative<std::monostate>(dims[3]));
}

TEST_CASE("a dim of -1 and the name ? stand for an unknown size, where that is tolerated") {
  const Wire shape = Wire()
                         .message(1, Wire().number(1, UINT64_MAX))
                         .message(1, Wire().block(2, "?"))
                         .message(1, Wire().number(1, 4));
  const Wire holder = Wire().number(1, 1).message(2, shape);
  for (const std::uint32_t kind : {1, 8}) {  // tensor and sparse tensor
    LeftOut left_out;
    const Wire wire = with_input(Wire().message(kind, holder));
    const auto dims = *load_model(wire.bytes(), {}, {}, left_out).graph.inputs[0].type.dims;
    REQUIRE(dims.size() == 3);
    CHECK(std::holds_alternative<std::monostate>(dims[0]));
    CHECK(std::holds_alternative<std::monostate>(dims[1]));
    CHECK(std::get<std::int64_t>(dims[2]) == 4);
    REQUIRE(left_out.tolerable.size() == 1);
    CHECK_THAT(left_out.tolerable[0].what(), Catch::Contains("dimension -1 is negative"));
  }
}

TEST_CASE("the standard's domain has one spelling after import") {
  const Wire node = Wire().block(4, "Relu").block(7, "ai.onnx");
  const Wire wire =
      model(Wire().message(1, node)).message(8, Wire().block(1, "ai.onnx").number(2, 13));
  const auto imported = load_model(wire.bytes());
  CHECK(imported.graph.nodes[0].domain.empty());
  CHECK(imported.opsets[0].domain.empty());
}

TEST_CASE("a message without a graph is no model") {
  CHECK_THROWS_WITH(load_model(Wire().number(1, 10).bytes()), Catch::Contains("there is no graph"));
  CHECK_THROWS_WITH(load_model(Wire().bytes()), Catch::Contains("there are no bytes"));
}

TEST_CASE("the numbers of nodes, functions and nested graphs are bounded") {
  Limits limits;
  limits.nodes = 1;
  limits.functions = 1;
  limits.subgraph_depth = 1;
  const Wire node = Wire().block(4, "Op").block(3, "culprit");
  CHECK_NOTHROW(load_model(model(Wire().message(1, node)).bytes(), limits));
  check_refused(model(Wire().message(1, node).message(1, node)), "more than 1 nodes", limits);

  const Wire function = Wire().block(1, "f");
  const Wire graph = Wire().block(2, "g");
  CHECK_NOTHROW(load_model(model(graph).message(25, function).bytes(), limits));
  CHECK_THROWS_WITH(
      load_model(model(graph).message(25, function).message(25, function).bytes(), limits),
      Catch::Contains("2 functions, more than 1"));

  limits.nodes = 10;
  const auto around = [](const Wire& inner) {
    const Wire attribute = named().number(20, 5).message(6, inner);
    return Wire().block(2, "culprit").message(1, Wire().block(4, "If").message(5, attribute));
  };
  CHECK_NOTHROW(load_model(model(around(graph)).bytes(), limits));
  check_refused(model(around(around(graph))), "nested deeper than 1", limits);
}

TEST_CASE("all defects are reported in one error") {
  const Wire bad = named().number(20, 1).number(3, 1);
  const Wire inner =
      Wire().block(2, "inner").message(1, Wire().block(4, "Op").block(3, "n1").message(5, bad));
  const Wire branch = named().number(20, 5).message(6, inner);
  const Wire graph = Wire()
                         .block(2, "main")
                         .message(1, Wire().block(4, "If").block(3, "n0").message(5, branch))
                         .message(5, Wire().block(8, "w").number(2, 1));
  try {
    load_model(model(graph).bytes());
    FAIL_CHECK("was loaded");
  } catch (const Error& error) {
    CHECK(error.message() ==
          "the type is FLOAT, but the value is INT, in attribute 'a', in node 'n1' (Op), in graph "
          "'inner', in attribute 'a', in node 'n0' (If), in graph 'main'\n"
          "shape [] needs data, there is none, in tensor 'w', in graph 'main'");
  }
}

TEST_CASE("a limit ends the import at once, and so do very many errors") {
  Limits limits;
  limits.tensor_bytes = 3;
  Wire graph = Wire().block(2, "main");
  const Wire nameless;
  for (int i = 0; i < 1000; ++i) graph.message(1, nameless);
  const auto lines = [&](const Wire& wire) {
    try {
      load_model(wire.bytes(), limits);
    } catch (const Error& error) {
      return std::count(error.message().begin(), error.message().end(), '\n') + 1;
    }
    return std::ptrdiff_t{0};
  };
  CHECK(lines(model(graph)) == 101);
  const Wire large = Wire().number(1, 1).number(2, 1).block(9, "abcd");
  CHECK(lines(model(Wire().message(5, large).message(5, large))) == 1);
}
