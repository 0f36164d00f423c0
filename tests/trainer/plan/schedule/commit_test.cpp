// The end of a step: updates in the memory of their variables, after everything that can fail.
#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>

#include <catch2/catch.hpp>

#include <ondine/build.h>
#include <ondine/error.h>
#include <ondine/model.h>
#include <ondine/prepare.h>

#include "core/message.h"
#include "tests/support/models.h"
#include "tests/support/op_harness.h"
#include "tests/support/temporary_folder.h"
#include "trainer/model/assemble.h"
#include "trainer/plan/plan.h"

namespace ondine::test {
namespace {

const std::vector<std::string> loss_only{"loss"};

NamedValues regression_batch() {
  return {{"x", Tensor::of<float>({2, 2}, {1, 2, 3, 4})},
          {"t", Tensor::of<float>({2, 1}, {1, -1})}};
}

struct Planned {
  trainer::Plan plan;
  std::vector<trainer::InPlace> in_place;
};

// The plan of a step of linear_regression that returns its loss.
Planned plan_regression(bool commit_last) {
  const LoadOptions options;
  const trainer::Functions functions = trainer::assemble(linear_regression(0.1F), options);
  const trainer::Function& step = functions.algorithms[0].step;
  graph::Graph graph = *step.graph;
  graph.outputs.clear();
  for (const auto& output : step.outputs) {
    if (output.name == "loss") graph.outputs.push_back(output.value);
  }
  Planned planned;
  std::vector<graph::ValueId> targets;
  const auto inputs = step.inputs_of_variables();
  for (const trainer::Update& update : step.updates) {
    graph.outputs.push_back(update.value);
    targets.push_back(update.value);
    planned.in_place.push_back({update.value, inputs.at(update.variable)});
  }
  std::vector<graph::Type> types;
  for (const graph::ValueId id : graph.inputs) {
    graph::Type type = graph[id].type;
    for (graph::Dim& dim : *type.dims) {
      if (!dim.known()) dim = graph::Dim(2);
    }
    types.push_back(type);
  }
  trainer::PlanOptions plan_options;
  plan_options.targets = targets;
  plan_options.in_place = planned.in_place;
  plan_options.commit_last = commit_last;
  plan_options.limits = &options.limits;
  planned.plan =
      trainer::make_plan(std::make_shared<const graph::Graph>(graph), types, plan_options);
  return planned;
}

// Model of one product and its gradient descent; weights of 32 x 32.
void write_product(const std::filesystem::path& file) {
  ModelBuilder builder("product");
  const std::string x = builder.input("x", DType::float32, {"N", 32});
  const std::string w = builder.initializer("w", random_floats({32, 32}, 1, -0.3F, 0.3F));
  builder.output(builder.node("Gemm", {x, w}), DType::float32, {"N", 32});
  builder.save(file);
  PrepareOptions options;
  options.train = {"w"};
  prepare(file, file, options);
}

NamedValues product_batch(std::int64_t n) {
  return {{"x", random_floats({n, 32}, 5)}, {"label", Tensor(DType::int64, {n})}};
}

}  // namespace

TEST_CASE("the updates of a step are its last nodes and take the memory of the variables") {
  Planned planned = plan_regression(true);
  trainer::Plan& plan = planned.plan;
  CHECK_NOTHROW(trainer::verify_plan(plan, planned.in_place));
  CHECK(plan.nodes.size() - plan.commit_begin == 2);
  CHECK(plan.in_place == std::vector<bool>{true, true});
  CHECK(plan.committed == std::vector<bool>{true, true});
  // A variable that is written over before its last reader is found.
  std::rotate(plan.nodes.begin() + 1, plan.nodes.end() - 1, plan.nodes.end());
  CHECK_THROWS_AS(trainer::verify_plan(plan, planned.in_place), Error);
}

TEST_CASE("immediate updates have no commit section") {
  const Planned planned = plan_regression(false);
  CHECK(planned.plan.commit_begin == planned.plan.nodes.size());
  CHECK(planned.plan.committed == std::vector<bool>{false, false});
}

TEST_CASE("a variable has one buffer unless more than it would wait for its update") {
  const TemporaryFolder folder;
  const auto file = folder / "product.onnx";
  write_product(file);
  const Model model = Model::load(file);
  constexpr std::uint64_t weights = 32 * 32 * 4;
  CHECK(model.plan(product_batch(1), 0, loss_only).state_bytes < 2 * weights);
  if (std::getenv("ONDINE_NO_FUSION") != nullptr) {
    WARN("without fusion the gradient waits, which is as large as the weights: skipped");
    return;
  }
  CHECK(model.plan(product_batch(1000), 0, loss_only).state_bytes >= 2 * weights);
}

TEST_CASE("gradients of large weights take turns in memory, with the same bits") {
  const TemporaryFolder folder;
  const auto file = folder / "layers.onnx";
  constexpr std::int64_t width = 640;
  constexpr std::uint64_t weights = width * width * sizeof(float);
  ModelBuilder builder("layers");
  std::string x = builder.input("x", DType::float32, {"N", width});
  for (std::uint64_t i = 0; i < 4; ++i) {
    const auto w = random_floats({width, width}, i, -0.05F, 0.05F);
    x = builder.node("Tanh", {builder.node("Gemm", {x, builder.initializer(cat("w", i), w)})});
  }
  builder.output(x, DType::float32, {"N", width});
  builder.save(file);
  PrepareOptions prepared;
  prepared.optimizer = Adam{};
  prepare(file, file, prepared);
  LoadOptions options;
  options.updates = UpdatePolicy::immediate;
  Model atomic = Model::load(file);
  Model immediate = Model::load(file, options);
  const NamedValues batch{{"x", random_floats({3, width}, 5)},
                          {"label", Tensor(DType::int64, {3})}};
  CHECK(atomic.plan(batch, 0, loss_only).arena_bytes < 3 * weights);
  for (int i = 0; i < 3; ++i) {
    atomic.train_step(batch, 0, loss_only);
    immediate.train_step(batch, 0, loss_only);
  }
  CHECK(atomic.parameters() == immediate.parameters());
}

TEST_CASE("updates in place have the bits of updates in other memory") {
  const TemporaryFolder folder;
  const auto file = folder / "product.onnx";
  write_product(file);
  for (const std::int64_t n : {1, 3, 5, 200}) {
    Model direct = Model::load(file);
    Model copied = Model::load(file);
    for (int i = 0; i < 4; ++i) {
      direct.train_step(product_batch(n), 0, loss_only);
      copied.train_step(product_batch(n));  // returns the new values, too
    }
    CHECK(direct.get_state("w").identical(copied.get_state("w")));
  }
}

TEST_CASE("a commit section does not stop for a call around the step") {
  const std::string file = "large.onnx";
  const TemporaryFolder folder;
  ModelBuilder builder("large");
  const std::string x = builder.input("x", DType::float32, {"N", 300});
  const std::string w = builder.initializer("w", random_floats({300, 300}, 1, -0.3F, 0.3F));
  builder.output(builder.node("Gemm", {x, w}), DType::float32, {"N", 300});
  builder.save(folder / file);
  PrepareOptions prepared;
  prepared.train = {"w"};
  prepare(folder / file, folder / file, prepared);
  Model inner = Model::load(folder / file);
  const Tensor before = inner.get_state("w");

  Model outer = Model::load(encode(linear_regression(0.1F)));
  const auto flag = std::make_shared<CancelFlag>(false);
  outer.set_cancel_flag(flag);
  outer.set_progress([&](double) {
    flag->store(true);
    inner.train_step({{"x", random_floats({1, 300}, 5)}, {"label", Tensor(DType::int64, {1})}}, 0,
                     loss_only);
    return true;
  });
  CHECK_THROWS_WITH(outer.infer({{"x", Tensor::of<float>({1, 2}, {1, 1})}}),
                    Catch::Contains("cancelled"));
  CHECK_FALSE(inner.get_state("w").identical(before));
}

TEST_CASE("an optimizer whose variables exchange their values does not write over them") {
  const std::string domain = "ai.onnx.preview.training";
  graph::ModelDef def;
  def.ir_version = 9;
  def.opsets = {{"", 18}, {domain, 1}};
  def.graph.name = "main";
  std::vector<graph::DimDef> dims{std::int64_t{3}};
  def.graph.inputs = {tensor_value("x", DType::float32, dims)};
  def.graph.outputs = {tensor_value("y", DType::float32, dims)};
  def.graph.initializers = {{"a", Tensor::of<float>({3}, {1, 2, 3}), "", {}},
                            {"b", Tensor::of<float>({3}, {4, 5, 6}), "", {}}};
  def.graph.nodes = {node("Add", {"x", "a"}, {"y"})};
  graph::GraphDef step;
  step.name = "step";
  step.initializers = {{"rate", Tensor::scalar(1.0F), "", {}},
                       {"count", Tensor::scalar(std::int64_t{1}), "", {}},
                       {"h", Tensor(DType::float32, {3}), "", {}},
                       {"g", Tensor(DType::float32, {3}), "", {}}};
  step.nodes = {node("Identity", {"x"}, {"seen"}),
                node("Momentum", {"rate", "count", "a", "b", "g", "g", "h", "h"}, {"a2", "b2"},
                     {{"alpha", 0.5F},
                      {"beta", 1.0F},
                      {"mode", std::string("standard")},
                      {"norm_coefficient", 0.0F}},
                     domain)};
  step.outputs = {tensor_value("seen", DType::float32, dims)};
  graph::TrainingInfoDef info;
  info.algorithm = step;
  info.algorithm->outputs.push_back(tensor_value("a2", DType::float32, dims));
  info.algorithm->outputs.push_back(tensor_value("b2", DType::float32, dims));
  info.update_binding = {{"a", "b2"}, {"b", "a2"}};
  def.training = {info};
  Model model = Model::load(encode(def));
  const std::vector<std::string> seen{"seen"};
  const NamedValues feeds{{"x", Tensor(DType::float32, {3})}};
  for (int i = 0; i < 3; ++i) model.train_step(feeds, 0, seen);
  CHECK(model.get_state("a").identical(Tensor::of<float>({3}, {4, 5, 6})));
  CHECK(model.get_state("b").identical(Tensor::of<float>({3}, {1, 2, 3})));
}

TEST_CASE("inference that began before a step answers with the version it began with") {
  Model model = Model::load(encode(linear_regression(0.1F)));
  const NamedValues feeds{{"x", Tensor::of<float>({1, 2}, {1, 1})}};
  for (int i = 0; i < 2; ++i) model.train_step(regression_batch(), 0, loss_only);
  const Tensor old = model.infer(feeds)[0].second.tensor();

  std::mutex mutex;
  std::condition_variable changed;
  bool begun = false;
  bool trained = false;
  const auto trainer = std::this_thread::get_id();
  model.set_progress([&](double) {
    if (std::this_thread::get_id() == trainer) return true;
    std::unique_lock lock(mutex);
    begun = true;
    changed.notify_all();
    changed.wait(lock, [&] { return trained; });
    return true;
  });
  Tensor seen;
  std::thread reader([&] { seen = model.infer(feeds)[0].second.tensor(); });
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return begun; });
  }
  for (int i = 0; i < 3; ++i) model.train_step(regression_batch(), 0, loss_only);
  {
    const std::lock_guard lock(mutex);
    trained = true;
  }
  changed.notify_all();
  reader.join();
  model.set_progress({});
  CHECK(seen.identical(old));
  CHECK_FALSE(model.infer(feeds)[0].second.tensor().identical(old));

  Model alone = Model::load(encode(linear_regression(0.1F)));
  for (int i = 0; i < 5; ++i) alone.train_step(regression_batch(), 0, loss_only);
  CHECK(model.get_state("w").identical(alone.get_state("w")));
}

TEST_CASE("a step that is stopped anywhere before its commit section leaves every variable") {
  Model model = Model::load(encode(linear_regression(0.1F)));
  for (int i = 0; i < 2; ++i) model.train_step(regression_batch(), 0, loss_only);
  const auto before = model.parameters();
  model.set_progress([](double) { return false; });
  CHECK_THROWS_AS(model.train_step(regression_batch(), 0, loss_only), Error);
  model.set_progress({});
  CHECK(model.parameters() == before);
  CHECK(model.steps() == 2);
  model.train_step(regression_batch(), 0, loss_only);
  CHECK(model.parameters() != before);
}

}  // namespace ondine::test
