#include "tests/trainer/lower/lowered_steps.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "proto/import.h"

namespace ondine::test {
namespace {

Value find(const NamedValues& values, const std::string& name) {
  const auto found = std::find_if(values.begin(), values.end(),
                                  [&](const NamedValue& one) { return one.first == name; });
  REQUIRE(found != values.end());
  return found->second;
}

}  // namespace

LowerReport check_lowered(Model& model, const NamedValues& feeds, const LowerOptions& options,
                          int steps, Closeness closeness) {
  const std::vector<NamedValues> same(static_cast<std::size_t>(steps), feeds);
  return check_lowered_on(model, same, options, closeness);
}

LowerReport check_lowered_on(Model& model, std::span<const NamedValues> every_feeds,
                             const LowerOptions& options, Closeness closeness) {
  LowerReport report;
  const auto bytes = lower(model, options, &report);
  for (const std::string& domain : imported_domains(bytes)) {
    CHECK((domain.empty() || domain == "ai.onnx.ml"));
  }
  const Model plain = Model::load(bytes);
  NamedValues state;
  for (const StateInfo& one : model.state()) {
    state.emplace_back(one.name, model.get_state(one.name).clone());
  }
  for (std::size_t step = 0; step < every_feeds.size(); ++step) {
    CAPTURE(step);
    const NamedValues& feeds = every_feeds[step];
    NamedValues given;
    for (const std::string& name : report.feeds) {
      const auto fed = std::find_if(feeds.begin(), feeds.end(),
                                    [&](const NamedValue& one) { return one.first == name; });
      if (fed != feeds.end()) given.push_back(*fed);
    }
    for (const std::string& name : report.state) given.emplace_back(name, find(state, name));
    std::vector<std::string> fetches = report.results;
    for (const auto& [variable, output] : report.next_state) fetches.push_back(output);
    std::sort(fetches.begin(), fetches.end());
    fetches.erase(std::unique(fetches.begin(), fetches.end()), fetches.end());
    const NamedValues lowered = plain.infer(given, fetches);
    const NamedValues trained = model.train_step(feeds, options.algorithm);
    for (const std::string& name : report.results) {
      CAPTURE(name);
      check_close(find(lowered, name).tensor(), find(trained, name).tensor(), closeness);
    }
    for (const auto& [variable, output] : report.next_state) {
      CAPTURE(variable, output);
      const Tensor next = find(lowered, output).tensor();
      check_close(next, model.get_state(variable), closeness);
      for (NamedValue& one : state) {
        if (one.first == variable) one.second = next;
      }
    }
  }
  return report;
}

Model trained_network(const Shape& x, const Shape& y, const Layers& layers,
                      const Optimizer& optimizer, std::int64_t opset, WeightInit init) {
  const auto dims = [](const Shape& shape) { return NetworkDims(shape.begin(), shape.end()); };
  return trained_network_of(dims(x), dims(y), layers, optimizer, opset, init);
}

Model trained_network_of(const NetworkDims& x, const NetworkDims& y, const Layers& layers,
                         const Optimizer& optimizer, std::int64_t opset, WeightInit init) {
  ModelBuilder builder("network", opset);
  const std::string input = builder.input("x", DType::float32, x);
  builder.node("Identity", {layers(builder, input)}, {}, "y");
  builder.output("y", DType::float32, y);
  PrepareOptions options;
  options.loss = Loss::mse;
  options.optimizer = optimizer;
  options.init = init;
  return prepare(builder.bytes(), options);
}

NamedValues network_feeds(const Shape& x, const Shape& y) {
  return {{"x", random_floats(x, 1)}, {"label", random_floats(y, 2)}};
}

void check_network(const Shape& x, const Shape& y, const Layers& layers, std::int64_t opset) {
  Model model = trained_network(x, y, layers, Sgd{}, opset);
  check_lowered(model, network_feeds(x, y));
}

std::string conv(ModelBuilder& b, const std::string& op, const std::string& x, const Shape& w,
                 const ModelBuilder::Attributes& attributes) {
  return b.node(op, {x, b.initializer("w", random_floats(w, 5))}, attributes);
}

std::vector<std::string> imported_domains(std::span<const std::byte> model) {
  std::vector<std::string> domains;
  const graph::ModelDef def = load_model(model);
  CHECK(def.training.empty());
  CHECK(def.functions.empty());
  for (const graph::OpsetImport& one : def.opsets) domains.push_back(one.domain);
  return domains;
}

}  // namespace ondine::test
