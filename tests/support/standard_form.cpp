#include "tests/support/standard_form.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "graph/evaluate/graph_runner.h"
#include "graph/evaluate/node_runner.h"

namespace ondine::test {

using namespace graph;  // NOLINT

namespace {

class OwnGraph {
 public:
  OwnGraph(const OwnOperator& own, bool dynamic) {
    graph_.symbols = std::make_shared<Symbols>();
    Builder builder(graph_, catalogue());
    for (std::size_t i = 0; i < own.inputs.size(); ++i) {
      const auto& known = own.constants;
      add(builder, own.inputs[i], dynamic, std::find(known.begin(), known.end(), i) != known.end());
    }
    for (const Val y : builder.nodes(own.op, xs_, own.attributes, own.outputs, own.domain)) {
      graph_.outputs.push_back(y.id());
    }
  }

  // The nodes for which `when` is true are expanded.
  template <class When>
  std::vector<Value> run(const When& when) const {
    Graph result = graph_;
    result.nodes.clear();
    Builder builder(result, catalogue());
    builder.set_expand(when);
    for (const Node& node : graph_.nodes) builder.append(node);
    return evaluate(result, fed_);
  }

 private:
  void add(Builder& builder, const Value& value, bool dynamic, bool constant) {
    if (value.kind() == Value::Kind::none) return xs_.emplace_back(), void();
    if (constant) return xs_.push_back(builder.constant(value.tensor()));
    Type type = type_of(value);
    if (dynamic && type.dims) type.dims->assign(type.dims->size(), Dim());
    graph_.inputs.push_back(graph_.add_temporary("x", type));
    xs_.push_back(builder.value(graph_.inputs.back()));
    fed_.push_back(value);
  }

  Graph graph_;
  std::vector<Val> xs_;
  std::vector<Value> fed_;
};

}  // namespace

std::vector<Value> run_kernel(const OwnOperator& own) {
  return OwnGraph(own, false).run([](const Node& node) { return node.op->bind == nullptr; });
}

std::vector<Value> run_standard_form(const OwnOperator& own, bool dynamic) {
  return OwnGraph(own, dynamic).run([&](const Node& node) {
    return node.op->bind == nullptr || node.op->domain == ondine_domain || node.op->name == own.op;
  });
}

void check_standard_form(const OwnOperator& own, Closeness closeness) {
  const std::vector<Value> want = run_kernel(own);
  for (const bool dynamic : {false, true}) {
    CAPTURE(own.op, dynamic);
    const std::vector<Value> got = run_standard_form(own, dynamic);
    REQUIRE(got.size() == want.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
      check_close(got[i].tensor(), want[i].tensor(), closeness);
    }
  }
}

}  // namespace ondine::test
