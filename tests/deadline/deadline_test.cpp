// Every kernel is stopped soon after its deadline, whatever a file asks for.
#include <catch2/catch.hpp>

#include <chrono>
#include <ctime>

#include <ondine/error.h>

#include "core/stop.h"
#include "graph/evaluate/graph_runner.h"
#include "tests/deadline/worst_cases.h"

using namespace ondine;         // NOLINT
using namespace ondine::test;   // NOLINT
using namespace ondine::graph;  // NOLINT

namespace {

// Graph of the call; an operator without a kernel is expanded into those it is made of.
Graph graph_of(const OpCase& one) {
  Graph graph;
  Builder builder(graph, catalogue());
  builder.set_expand([](const Node& node) { return node.op->bind == nullptr; });
  std::vector<Val> inputs;
  for (const Value& value : one.inputs) {
    if (value.kind() == Value::Kind::none) {
      inputs.emplace_back();
      continue;
    }
    const ValueId id = graph.add_temporary("x", type_of(value));
    // Parameters such as shapes are known, as they are in a model.
    if (value.is_tensor() && value.tensor().size() <= 16) {
      graph[id].constant = value.tensor();
    } else {
      graph.inputs.push_back(id);
    }
    inputs.push_back(builder.value(id));
  }
  for (const Val y :
       builder.nodes(one.op, inputs, one.attributes, one.outputs, one.domain, one.version)) {
    graph.outputs.push_back(y.id());
  }
  return graph;
}

struct Outcome {
  bool stopped = false;
  double late = 0;  // seconds of processor time after the deadline
};

Outcome run(const OpCase& one, std::chrono::milliseconds deadline) {
  const Graph graph = graph_of(one);
  std::vector<Value> feeds;
  for (const Value& value : one.inputs) {
    const bool fed =
        value.kind() != Value::Kind::none && !(value.is_tensor() && value.tensor().size() <= 16);
    if (fed) feeds.push_back(value);
  }
  Outcome outcome;
  const std::clock_t start = std::clock();
  try {
    const StopScope scope({nullptr, std::chrono::steady_clock::now() + deadline});
    evaluate(graph, feeds);
  } catch (const Error& error) {
    INFO(error.what());
    CHECK_THAT(error.what(), Catch::Contains("the call took longer than its deadline"));
    outcome.stopped = true;
  }
  // The deadline is in time that passes, of which a loaded machine gives this thread a part.
  const double used = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  outcome.late = used - std::chrono::duration<double>(deadline).count();
  return outcome;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
constexpr double most_late = 5;
#else
constexpr double most_late = 0.2;  // 0.1, and what caches that other programs use cost
#endif

std::string name_of(const OpDef& op) { return std::string(op.domain) + ":" + std::string(op.name); }

}  // namespace

TEST_CASE("every operator with a kernel says what takes it longest") {
  for (const OpDef* op : catalogue().all()) {
    if (op->bind == nullptr) continue;  // is replaced by others
    const std::string name = name_of(*op);
    const std::size_t entries =
        worst_cases().count(name) + unary_operators().count(name) + linear_operators().count(name);
    INFO(name);
    CHECK(entries == 1);
  }
}

TEST_CASE("operators whose work is a product of sizes stop soon after their deadline") {
  for (const auto& [name, cases] : worst_cases()) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const OpCase one = cases[i]();
      if (catalogue().find(one.domain, one.op) == nullptr) continue;
      INFO(name << ", case " << i);
      // The first phase of a kernel and a later one.
      for (const int milliseconds : {0, 60}) {
        Outcome outcome = run(one, std::chrono::milliseconds(milliseconds));
        if (outcome.late > most_late) outcome = run(one, std::chrono::milliseconds(milliseconds));
        INFO("deadline of " << milliseconds << " ms");
        CHECK(outcome.stopped);
        CHECK(outcome.late < most_late);
      }
    }
  }
}

TEST_CASE("element by element operators stop soon after their deadline") {
  for (const std::string& name : unary_operators()) {
    const std::size_t colon = name.find(':');
    OpCase one{.op = name.substr(colon + 1),
               .inputs = {zeros(DType::float32, {std::int64_t{1} << 26})},
               .domain = name.substr(0, colon)};
    if (catalogue().find(one.domain, one.op) == nullptr) continue;
    INFO(name);
    const Outcome outcome = run(one, std::chrono::milliseconds(0));
    CHECK(outcome.stopped);
    CHECK(outcome.late < most_late);
  }
}
