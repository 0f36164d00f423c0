// The nodes that each function appends.
#include "graph/contract/ops.h"

#include <catch2/catch.hpp>

#include <deque>
#include <functional>
#include <string>

#include "graph/contract/builder.h"
#include "graph/contract/infer.h"
#include "graph/print/format.h"

using namespace ondine;
using namespace ondine::graph;

namespace {

// Operators whose result has the type of their first input.
const Catalogue& operators() {
  static const auto all = [] {
    std::deque<OpDef> list;
    for (const char* name :
         {"Add",       "Sub",       "Mul",     "Div",       "Neg",       "Pow",
          "Min",       "Max",       "Less",    "Greater",   "Equal",     "And",
          "Not",       "Where",     "Cast",    "Shape",     "Size",      "Reshape",
          "Expand",    "Transpose", "Concat",  "Unsqueeze", "Gather",    "MatMul",
          "ReduceSum", "Slice",     "Squeeze", "Softmax",   "ReduceMax", "ReduceMean"}) {
      list.push_back({.name = name, .infer = infer_same_as_input});
    }
    for (const char* name : {"SequenceAdd", "SequenceZeros", "SumTo"}) {
      list.push_back({.name = name, .domain = ondine_domain, .infer = infer_same_as_input});
    }
    return list;
  }();
  static const Catalogue catalogue = [] {
    std::vector<const OpDef*> list;
    for (const OpDef& op : all) list.push_back(&op);
    return Catalogue(list);
  }();
  return catalogue;
}

struct Inputs {
  Val x, y;  // float [2, 3] and [3]
  Val open;  // float [?]
  Val many;  // a sequence
};

// The nodes of what `make` returns, with their inputs and attributes; constants by their elements.
std::string made(const std::function<Val(const Inputs&)>& make) {
  Graph graph;
  Builder builder(graph, operators());
  const auto input = [&](const char* name, const Type& type) {
    graph.inputs.push_back(graph.add_value(name, type));
    return builder.value(graph.inputs.back());
  };
  const Type matrix = Type::tensor(DType::float32, Shape{2, 3});
  const Inputs inputs{input("x", matrix), input("y", Type::tensor(DType::float32, Shape{3})),
                      input("open", Type::tensor(DType::float32, Dims{Dim()})),
                      input("many", Type::sequence(matrix))};
  const auto name = [&](ValueId id) {
    if (id == no_value) return std::string("_");
    if (!graph[id].constant->defined()) return graph[id].name;
    const std::string text = printed_tensor(graph[id].constant);
    return text.substr(text.find(']') + 2);
  };
  const Val result = make(inputs);
  std::string text;
  for (const Node& node : graph.nodes) {
    text += std::string(node.op->name) + "(" + printed_list(node.inputs, name) + ")";
    if (!node.attributes.empty())
      text += "[" + printed_list(node.attributes, printed_attribute) + "]";
    text += " ";
  }
  return text + "-> " + name(result.id());
}

}  // namespace

TEST_CASE("arithmetic of values and numbers appends one node each") {
  struct Row {
    std::function<Val(const Inputs&)> make;
    std::string text;
  };
  for (const Row& row : std::vector<Row>{
           {[](const Inputs& in) { return in.x + in.y; }, "Add(x, y) -> Add"},
           {[](const Inputs& in) { return in.x - in.y; }, "Sub(x, y) -> Sub"},
           {[](const Inputs& in) { return in.x * in.y; }, "Mul(x, y) -> Mul"},
           {[](const Inputs& in) { return in.x / in.y; }, "Div(x, y) -> Div"},
           {[](const Inputs& in) { return -in.x; }, "Neg(x) -> Neg"},
           {[](const Inputs& in) { return in.x + 2.0; }, "Add(x, {2}) -> Add"},
           {[](const Inputs& in) { return in.x - 2.0; }, "Sub(x, {2}) -> Sub"},
           {[](const Inputs& in) { return in.x * 2.0; }, "Mul(x, {2}) -> Mul"},
           {[](const Inputs& in) { return in.x / 2.0; }, "Div(x, {2}) -> Div"},
           {[](const Inputs& in) { return 2.0 + in.x; }, "Add({2}, x) -> Add"},
           {[](const Inputs& in) { return 2.0 - in.x; }, "Sub({2}, x) -> Sub"},
           {[](const Inputs& in) { return 2.0 * in.x; }, "Mul({2}, x) -> Mul"},
           {[](const Inputs& in) { return 2.0 / in.x; }, "Div({2}, x) -> Div"},
           {[](const Inputs& in) { return in.many + in.many; },
            "SequenceAdd(many, many) -> SequenceAdd"},
           {[](const Inputs& in) { return pow(in.x, in.y); }, "Pow(x, y) -> Pow"},
           {[](const Inputs& in) { return pow(in.x, 2.0); }, "Pow(x, {2}) -> Pow"},
           {[](const Inputs& in) { return minimum(in.x, in.y); }, "Min(x, y) -> Min"},
           {[](const Inputs& in) { return maximum(in.x, in.y); }, "Max(x, y) -> Max"},
           {[](const Inputs& in) { return less(in.x, in.y); }, "Less(x, y) -> Less"},
           {[](const Inputs& in) { return greater(in.x, in.y); }, "Greater(x, y) -> Greater"},
           {[](const Inputs& in) { return equal(in.x, in.y); }, "Equal(x, y) -> Equal"},
           {[](const Inputs& in) { return logical_and(in.x, in.y); }, "And(x, y) -> And"},
           {[](const Inputs& in) { return logical_not(in.x); }, "Not(x) -> Not"},
           {[](const Inputs& in) { return where(in.x, in.y, in.open); },
            "Where(x, y, open) -> Where"},
           {[](const Inputs& in) { return matmul(in.x, in.y); }, "MatMul(x, y) -> MatMul"},
       }) {
    CHECK(made(row.make) == row.text);
  }
}

TEST_CASE("shapes that are known are constants, others are computed") {
  struct Row {
    std::function<Val(const Inputs&)> make;
    std::string text;
  };
  for (const Row& row : std::vector<Row>{
           {[](const Inputs& in) { return shape_of(in.x); }, "-> {2, 3}"},
           {[](const Inputs& in) { return shape_of(in.open); }, "Shape(open) -> Shape"},
           {[](const Inputs& in) { return size_of(in.x); }, "Size(x) -> Size"},
           {[](const Inputs& in) { return dim_of(in.x, 0); },
            "Shape(x)[start = 0, end = 1] -> Shape"},
           {[](const Inputs& in) { return dim_of(in.x, -2); },
            "Shape(x)[start = -2, end = -1] -> Shape"},
           {[](const Inputs& in) { return dim_of(in.x, -1); }, "Shape(x)[start = -1] -> Shape"},
           {[](const Inputs& in) { return cast(in.x, DType::float32); }, "-> x"},
           {[](const Inputs& in) { return cast(in.x, DType::int64); }, "Cast(x)[to = 7] -> Cast"},
           {[](const Inputs& in) { return reshape(in.x, in.y); },
            "Reshape(x, y)[allowzero = 1] -> Reshape"},
           {[](const Inputs& in) {
              return reshape(in.x, {0, -1});
            },
            "Reshape(x, {0, -1}) -> Reshape"},
           {[](const Inputs& in) { return reshape_like(in.y, in.x); },
            "Reshape(y, {2, 3})[allowzero = 1] -> Reshape"},
           {[](const Inputs& in) { return expand_like(in.y, in.x); },
            "Expand(y, {2, 3}) -> Expand"},
           {[](const Inputs& in) { return zeros_like(in.x); }, "Expand({0}, {2, 3}) -> Expand"},
           {[](const Inputs& in) { return full_like(in.x, 4); }, "Expand({4}, {2, 3}) -> Expand"},
           {[](const Inputs& in) { return zeros_like(in.many); },
            "SequenceZeros(many) -> SequenceZeros"},
           {[](const Inputs& in) { return sum_to(in.x, in.x); }, "-> x"},
           {[](const Inputs& in) { return sum_to(in.x, in.y); }, "SumTo(x, {3}) -> SumTo"},
           {[](const Inputs& in) { return sum_to(in.open, in.y); }, "SumTo(open, {3}) -> SumTo"},
           {[](const Inputs& in) { return sum_to(in.y, in.open); },
            "Shape(open) SumTo(y, Shape) -> SumTo"},
       }) {
    CHECK(made(row.make) == row.text);
  }
}

TEST_CASE("axes, positions and steps go where each operator takes them") {
  struct Row {
    std::function<Val(const Inputs&)> make;
    std::string text;
  };
  for (const Row& row : std::vector<Row>{
           {[](const Inputs& in) {
              return transpose(in.x, {1, 0});
            },
            "Transpose(x)[perm = {1, 0}] -> Transpose"},
           {[](const Inputs& in) {
              return unsqueeze(in.x, {0, 2});
            },
            "Unsqueeze(x, {0, 2}) -> Unsqueeze"},
           {[](const Inputs& in) { return squeeze(in.x, {0}); }, "Squeeze(x, {0}) -> Squeeze"},
           {[](const Inputs& in) {
              return concat(std::vector{in.x, in.y}, 1);
            },
            "Concat(x, y)[axis = 1] -> Concat"},
           {[](const Inputs& in) { return slice(in.x, 1, 5, 0, 2); },
            "Slice(x, {1}, {5}, {0}, {2}) -> Slice"},
           {[](const Inputs& in) { return gather(in.x, in.y, 1); },
            "Gather(x, y)[axis = 1] -> Gather"},
           {[](const Inputs& in) { return reduce_sum(in.x, {1}, true); },
            "ReduceSum(x, {1})[keepdims = 1] -> ReduceSum"},
           {[](const Inputs& in) { return reduce_mean(in.x, {}, false); },
            "ReduceMean(x)[keepdims = 0] -> ReduceMean"},
           {[](const Inputs& in) {
              return reduce_max(in.x, {0, 1}, false);
            },
            "ReduceMax(x, {0, 1})[keepdims = 0] -> ReduceMax"},
           {[](const Inputs& in) { return softmax(in.x, -1); }, "Softmax(x)[axis = -1] -> Softmax"},
       }) {
    CHECK(made(row.make) == row.text);
  }
}
