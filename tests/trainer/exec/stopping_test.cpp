// Calls are stopped before their nodes and after the last, also where there is only one.
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include <ondine/build.h>
#include <ondine/error.h>
#include <ondine/model.h>

#include "tests/support/models.h"

namespace ondine::test {
namespace {

using std::chrono::milliseconds;

const std::vector<graph::DimDef> dims{std::int64_t{3}};

// y = x + w; a step subtracts x from w. One node each.
std::vector<std::byte> small_model() {
  graph::ModelDef def;
  def.ir_version = 9;
  def.opsets = {{"", 18}};
  def.graph.name = "main";
  def.graph.inputs = {tensor_value("x", DType::float32, dims)};
  def.graph.outputs = {tensor_value("y", DType::float32, dims)};
  def.graph.initializers = {{"w", Tensor::of<float>({3}, {1, 2, 3}), "", {}}};
  def.graph.nodes = {node("Add", {"x", "w"}, {"y"})};
  graph::TrainingInfoDef info;
  info.algorithm.emplace();
  info.algorithm->name = "step";
  info.algorithm->nodes = {node("Sub", {"w", "x"}, {"w2"})};
  info.algorithm->outputs = {tensor_value("w2", DType::float32, dims)};
  info.update_binding = {{"w", "w2"}};
  def.training = {info};
  return encode(def);
}

const NamedValues ones{{"x", Tensor::of<float>({3}, {1, 1, 1})}};

template <class Call>
ErrorCode code_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  FAIL("was not stopped");
  return {};
}

void step(Model& model) { model.train_step_into(ones, 0, {}); }

}  // namespace

TEST_CASE("what asks a call to stop while its only node runs stops it") {
  Model model = Model::load(small_model());
  const auto flag = std::make_shared<CancelFlag>(false);
  model.set_cancel_flag(flag);
  std::vector<double> fractions;
  model.set_progress([&](double fraction) {
    fractions.push_back(fraction);
    flag->store(true);
    return true;
  });
  CHECK(code_of([&] { model.infer(ones); }) == ErrorCode::cancelled);
  CHECK(fractions == std::vector<double>{0});
}

TEST_CASE("a call of one node that takes longer than its deadline fails") {
  Model model = Model::load(small_model());
  model.set_deadline(milliseconds(50));
  model.set_progress([](double) {
    std::this_thread::sleep_for(milliseconds(60));
    return true;
  });
  CHECK(code_of([&] { model.infer(ones); }) == ErrorCode::limit);
}

TEST_CASE("progress is told before the first node and after the last") {
  Model model = Model::load(small_model());
  std::vector<double> fractions;
  model.set_progress([&](double fraction) {
    fractions.push_back(fraction);
    std::this_thread::sleep_for(milliseconds(20));
    return true;
  });
  model.infer(ones);
  CHECK(fractions == std::vector<double>{0, 1});
}

TEST_CASE("a step that is nothing but its updates can be stopped before them") {
  Model model = Model::load(small_model());
  const auto flag = std::make_shared<CancelFlag>(true);
  model.set_cancel_flag(flag);
  CHECK(code_of([&] { step(model); }) == ErrorCode::cancelled);
  CHECK(model.steps() == 0);
  model.set_cancel_flag(nullptr);
  model.set_progress([](double) { return false; });
  CHECK(code_of([&] { step(model); }) == ErrorCode::cancelled);
  CHECK(model.get_state("w").identical(Tensor::of<float>({3}, {1, 2, 3})));
  model.set_progress({});
  step(model);
  CHECK(model.get_state("w").identical(Tensor::of<float>({3}, {0, 1, 2})));
}

TEST_CASE("nothing stops a step after an immediate update") {
  Model model = Model::load(small_model(), {.updates = UpdatePolicy::immediate});
  step(model);  // leaves the initial value, which is never overwritten
  const auto flag = std::make_shared<CancelFlag>(false);
  model.set_cancel_flag(flag);
  model.set_progress([&](double) {
    flag->store(true);
    return true;
  });
  step(model);
  CHECK(model.steps() == 2);
  CHECK(model.get_state("w").identical(Tensor::of<float>({3}, {-1, 0, 1})));
}

TEST_CASE("a call without nodes tells that it is done") {
  ModelBuilder b("nothing", 17);
  const std::string x = b.input("x", DType::float32, {3});
  b.output(x, DType::float32, {3});
  Model model = Model::load(b.bytes());
  std::vector<double> fractions;
  model.set_progress([&](double fraction) {
    fractions.push_back(fraction);
    return true;
  });
  CHECK(model.infer(ones).size() == 1);
  CHECK(fractions == std::vector<double>{1});
}

}  // namespace ondine::test
