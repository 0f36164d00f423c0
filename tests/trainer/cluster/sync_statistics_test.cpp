// Statistics of BatchNormalization over all ranks, and gradients in bfloat16 between them.
#include <catch2/catch.hpp>

#include <ondine/build.h>
#include <ondine/prepare.h>

#include "tests/support/random_tensor.h"
#include "tests/trainer/cluster/on_ranks.h"
#include "tests/trainer/fit/small_task.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

Tensor full(const Shape& shape, float value) {
  Tensor tensor(DType::float32, shape);
  for (float& one : tensor.mutable_values<float>()) one = value;
  return tensor;
}

// Two normalizations side by side, of [N, 6, 4] and of [N, 6], and one after them.
Model normalized(std::int64_t opset = 17, bool normalizes = true) {
  ModelBuilder b("net", opset);
  const std::string x = b.input("x", DType::float32, {"N", 8});
  const auto weight = [&](const char* name, const Shape& shape) {
    return b.initializer(name, random_floats(shape, shape.size(), -0.5F, 0.5F));
  };
  const auto normalize = [&](const std::string& value, const std::string& name,
                             std::int64_t channels) {
    if (!normalizes) return value;
    return b.node("BatchNormalization",
                  {value, b.initializer(name + ".scale", full({channels}, 1.5F)),
                   b.initializer(name + ".bias", full({channels}, 0.1F)),
                   b.initializer(name + ".mean", full({channels}, 0)),
                   b.initializer(name + ".var", full({channels}, 1))},
                  {{"momentum", 0.8F}, {"epsilon", 1e-3F}});
  };
  const std::string wide =
      b.node("Reshape", {b.node("MatMul", {x, weight("w1", {8, 24})}),
                         b.initializer("shape", Tensor::of<std::int64_t>({3}, {0, 6, 4}))});
  const std::string left =
      b.node("ReduceMean", {b.node("Relu", {normalize(wide, "n1", 6)})},
             {{"axes", std::vector<std::int64_t>{2}}, {"keepdims", std::int64_t{0}}});
  const std::string right =
      b.node("Tanh", {normalize(b.node("MatMul", {x, weight("w2", {8, 6})}), "n2", 6)});
  const std::string both = normalize(b.node("Add", {left, right}), "n3", 6);
  b.node("MatMul", {both, weight("w3", {6, 4})}, {}, "logits");
  b.output("logits", DType::float32, {"N", 4});
  PrepareOptions options{.optimizer = Sgd{.learning_rate = 0.1F}, .init = WeightInit::keep};
  options.loss = Loss::softmax_cross_entropy;
  return prepare(b.bytes(), options);
}

std::vector<std::shared_ptr<Model>> train_on(std::size_t size, const Dataset& data,
                                             const TrainerOptions& options) {
  std::vector<std::shared_ptr<Model>> models(size);
  const auto errors = on_ranks(size, [&](std::shared_ptr<Communicator> ranks) {
    auto& model = models[ranks->rank()] = std::make_shared<Model>(normalized());
    TrainerOptions own = options;
    own.communicator = std::move(ranks);
    Trainer(*model, own).fit(data);
  });
  CHECK(errors == std::vector<std::string>(size));
  for (const auto& one : models) CHECK(same_state(*one, *models[0]));
  return models;
}

// Greatest difference over all float32 state variables, running statistics among them.
float greatest_difference(const Model& a, const Model& b) {
  float greatest = 0;
  for (const StateInfo& variable : a.state()) {
    const Tensor x = a.get_state(variable.name), y = b.get_state(variable.name);
    if (x.dtype() != DType::float32) continue;
    for (std::size_t i = 0; i < x.values<float>().size(); ++i) {
      greatest = std::max(greatest, std::abs(x.values<float>()[i] - y.values<float>()[i]));
    }
  }
  return greatest;
}

Model train_alone(const Dataset& data, const TrainerOptions& options) {
  Model model = normalized();
  Trainer(model, options).fit(data);
  return model;
}

std::string refusal(const Model& made, TrainerOptions options) {
  const auto errors = on_ranks(2, [&](std::shared_ptr<Communicator> ranks) {
    Model model = made.clone();
    TrainerOptions own = options;
    own.communicator = std::move(ranks);
    Trainer(model, own).fit(Dataset::from(classes_data(16)));
  });
  CHECK(errors[0] == errors[1]);
  return errors[0];
}

}  // namespace

TEST_CASE("synchronized statistics are those of the whole batch, also where a rank has no rows") {
  // The last batches have 16 rows, 9 (ranks with 4, 4, 1 and 0), and 3.
  for (const std::int64_t rows : {48, 41, 35}) {
    const Dataset data = Dataset::from(classes_data(rows));
    const TrainerOptions plain{.epochs = 3, .batch_size = 16, .seed = 3};
    const Model alone = train_alone(data, plain);
    for (const std::size_t size : {2U, 4U}) {
      TrainerOptions options = plain;
      options.micro_shards = size;
      options.sync_batch_stats = true;
      CHECK(greatest_difference(alone, *train_on(size, data, options)[0]) < 1e-5F);
      options.sync_batch_stats = false;
      CHECK(greatest_difference(alone, *train_on(size, data, options)[0]) > 1e-3F);
    }
    TrainerOptions fast = plain;
    fast.fast_reduce = true;
    fast.sync_batch_stats = true;
    CHECK(greatest_difference(alone, *train_on(2, data, fast)[0]) < 1e-5F);
  }
}

TEST_CASE("an error on one rank ends ranks that wait for its statistics") {
  NamedValues wrong = classes_data(32);
  wrong[1].second.tensor().mutable_values<std::int64_t>()[9] = 77;
  TrainerOptions options{.epochs = 2, .batch_size = 16, .seed = 3, .fast_reduce = true};
  for (const bool synchronized : {true, false}) {
    options.sync_batch_stats = synchronized;
    const auto errors = on_ranks(2, [&](std::shared_ptr<Communicator> ranks) {
      Model model = normalized();
      TrainerOptions own = options;
      own.communicator = std::move(ranks);
      Trainer(model, own).fit(Dataset::from(wrong));
    });
    CHECK(errors[0] == errors[1]);
    CHECK_THAT(errors[0], Contains("77"));
  }
}

TEST_CASE("synchronized statistics are refused without need, parts for ranks, or ai.onnx 15") {
  TrainerOptions options{.batch_size = 16, .sync_batch_stats = true};
  CHECK_THAT(refusal(normalized(), options), Contains("one for each rank: --micro-shards 2"));
  Model model = normalized();
  CHECK_THROWS_WITH(Trainer(model, options), Contains("mpirun"));
  options.fast_reduce = true;
  CHECK_THAT(refusal(normalized(17, false), options), Contains("has no effect"));
  CHECK_THAT(refusal(normalized(14), options), Contains("needs ai.onnx 15"));
}

TEST_CASE("gradients in bfloat16 train like others, on all ranks alike, and not to the same bits") {
  const Dataset data = Dataset::from(classes_data(48));
  TrainerOptions options{.epochs = 3, .batch_size = 16, .seed = 3, .fast_reduce = true};
  const auto exact = train_on(2, data, options);
  options.wire_dtype = DType::bfloat16;
  const auto rounded = train_on(2, data, options);
  CHECK_FALSE(same_state(*exact[0], *rounded[0]));
  CHECK(greatest_difference(*exact[0], *rounded[0]) < 0.01F);
}

TEST_CASE("metrics of a run with bfloat16 between ranks are not rounded") {
  const Dataset data = Dataset::from(classes_data(48));
  std::vector<double> losses;
  for (const DType wire : {DType::float32, DType::bfloat16}) {
    std::vector<FitReport> reports(2);
    on_ranks(2, [&](std::shared_ptr<Communicator> ranks) {
      Model model = normalized();
      TrainerOptions options{.batch_size = 48, .seed = 3, .fast_reduce = true};
      options.wire_dtype = wire;
      const std::size_t rank = ranks->rank();
      options.communicator = std::move(ranks);
      reports[rank] = Trainer(model, options).fit(data);
    });
    losses.push_back(reports[0].last->training["loss"]);
  }
  CHECK(losses[0] == losses[1]);
}

TEST_CASE("types of gradients between ranks that there are not are refused") {
  TrainerOptions options{.batch_size = 16, .wire_dtype = DType::bfloat16};
  CHECK_THAT(refusal(normalized(), options), Contains("needs --fast-reduce"));
  options.fast_reduce = true;
  options.wire_dtype = DType::float16;
  CHECK_THAT(refusal(normalized(), options), Contains("float32 or bfloat16"));
}
