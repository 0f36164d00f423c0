#include "graph/training/prepare/prepare.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <set>

#include "core/stop.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/parameters/parameters.h"
#include "graph/training/prepare/uses.h"
#include "tests/graph/training/small_network.h"

using namespace ondine;
using namespace ondine::graph;
using namespace ondine::test;

TEST_CASE("a prepared classifier has loss, accuracy and an update for every parameter") {
  ModelDef model = network();
  const PrepareReport report = prepare(model, {});
  CHECK(report.loss == "loss");
  CHECK(report.trained ==
        std::vector<std::string>{"conv.w", "bn.scale", "bn.bias", "fc.w", "fc.b"});
  CHECK(report.frozen.empty());
  CHECK(model.ir_version == 7);
  REQUIRE(model.opsets.size() == 2);
  CHECK(model.opsets[1].domain == "ai.onnx.preview.training");
  require_single_assignment(model);

  const TrainingInfoDef& info = model.training.at(0);
  CHECK(keys(info.update_binding) == std::set<std::string>{"conv.w", "bn.scale", "bn.bias", "fc.w",
                                                           "fc.b", "bn.mean", "bn.var"});
  const GraphDef& algorithm = *info.algorithm;
  CHECK(algorithm.outputs.at(0).name == "loss");
  CHECK(algorithm.outputs.at(1).name == "accuracy");
  REQUIRE(algorithm.inputs.size() == 2);
  CHECK(algorithm.inputs[0].name == "label");
  CHECK(algorithm.inputs[0].type.dtype == DType::int64);
  CHECK(algorithm.inputs[0].type.dims == std::vector<DimDef>{std::string("N")});
  CHECK(algorithm.inputs[1].name == "learning_rate");
}

TEST_CASE("cross entropy reads the logits before a final Softmax") {
  ModelDef model = network();
  prepare(model, {});
  const NodeDef* loss = find_op(*model.training[0].algorithm, "SoftmaxCrossEntropyLoss");
  REQUIRE(loss != nullptr);
  CHECK(loss->inputs == std::vector<std::string>{"train.logits", "label"});
}

TEST_CASE("a name that the prediction's shape repeats is believed once") {
  ModelDef model = network();
  model.graph.outputs[0].type.dims = {std::string("N"), std::int64_t{3}, std::string("N"),
                                      std::string("W")};
  PrepareOptions options;
  options.loss = Loss::mse;
  prepare(model, options);
  const auto& dims = *model.training[0].algorithm->inputs[0].type.dims;
  CHECK(dims ==
        std::vector<DimDef>{std::string("N"), std::int64_t{3}, std::monostate(), std::string("W")});
}

TEST_CASE("every optimizer and loss writes a well-formed graph") {
  constexpr float decay = 0.01F;
  const auto optimizer = GENERATE(
      Optimizer(Sgd{.weight_decay = decay}), Optimizer(Momentum{.weight_decay = decay}),
      Optimizer(Nesterov{.weight_decay = decay}), Optimizer(Adagrad{.weight_decay = decay}),
      Optimizer(Adam{.weight_decay = decay}), Optimizer(AdamW{.weight_decay = decay}),
      Optimizer(Lion{.weight_decay = decay}), Optimizer(Adafactor{.weight_decay = decay}),
      Optimizer(Muon{.weight_decay = decay}), Optimizer(ScheduleFree{.weight_decay = decay}),
      Optimizer(AdamW8{.weight_decay = decay}), Optimizer(GaLore{.rank = 2, .weight_decay = decay}),
      Optimizer(Apollo{.rank = 2, .weight_decay = decay}));
  const auto loss = GENERATE(Loss::softmax_cross_entropy, Loss::bce_with_logits, Loss::mse,
                             Loss::mae, Loss::huber, Loss::nll, Loss::bce_probabilities);
  ModelDef model = network();
  if (loss == Loss::bce_with_logits) model.graph.nodes.back().op = "Sigmoid";
  PrepareOptions options;
  options.optimizer = optimizer;
  options.loss = loss;
  options.clip_norm = 1.0F;
  prepare(model, options);
  require_single_assignment(model);
  const GraphDef& algorithm = *model.training[0].algorithm;
  CHECK(find_op(algorithm, "Gradient")->inputs.size() == 5);
  CHECK((find_initializer(algorithm, "step") != nullptr) ==
        (!std::holds_alternative<Sgd>(optimizer) && !std::holds_alternative<Lion>(optimizer)));
}

TEST_CASE("initialization draws weights by their fan and leaves biases") {
  ModelDef model = network();
  prepare(model, {});
  const TrainingInfoDef& info = model.training[0];
  CHECK(keys(info.initialization_binding) == std::set<std::string>{"conv.w", "fc.w"});
  const NodeDef& drawn = info.initialization->nodes.at(1);
  CHECK(drawn.op == "RandomUniform");
  // fc.w is [out, in] = [3, 8]: the bound is sqrt(6 / 8).
  CHECK(std::get<float>(find(drawn.attributes, "high")->data) == Approx(0.8660254));
  ModelDef kept = network();
  PrepareOptions options;
  options.init = WeightInit::keep;
  prepare(kept, options);
  CHECK_FALSE(kept.training[0].initialization.has_value());
}

TEST_CASE("new names never collide with names of the model") {
  ModelDef model = network();
  model.graph.nodes[0].outputs[0] = "loss";
  model.graph.nodes[1].inputs[0] = "loss";
  model.graph.nodes[2].outputs[0] = "learning_rate";
  model.graph.nodes[3].inputs[0] = "learning_rate";
  weight(model, "step", {1});
  weight(model, "fc.w.mean", {1});
  PrepareOptions options;
  options.optimizer = Adam{};
  CHECK(prepare(model, options).loss == "loss_1");
  require_single_assignment(model);
}

TEST_CASE("a model that cannot be prepared is refused and unchanged") {
  ModelDef model = network();
  PrepareOptions options;
  std::string message;
  SECTION("an unknown output") {
    options.output = "q";
    message = "no output 'q'";
  }
  SECTION("a pattern without a match") {
    options.freeze = {"conv1.*"};
    message = "'conv1.*'";
  }
  SECTION("nothing left to train") {
    options.freeze = {"*"};
    message = "nothing to train";
  }
  SECTION("a label that is taken") {
    options.label = "x";
    message = "'x'";
  }
  SECTION("an opset before broadcasting") {
    model.opsets[0].version = 6;
    message = "ai.onnx 6";
  }
  SECTION("a model that is prepared already") {
    model.training.emplace_back();
    message = "already";
  }
  const std::size_t infos = model.training.size();
  const std::size_t imports = model.opsets.size();
  CHECK_THROWS_WITH(prepare(model, options), Catch::Contains(message));
  CHECK(model.training.size() == infos);
  CHECK(model.opsets.size() == imports);
}

TEST_CASE("every way through prepare ends at its deadline and leaves the model as it was") {
  PrepareOptions all;
  PrepareOptions qat;
  qat.qat = DType::int8;
  PrepareOptions frozen;
  frozen.quantize_frozen = FrozenFormat(DType::int8);
  frozen.train = {"fc.*"};
  for (const PrepareOptions& options : {all, qat, frozen}) {
    ModelDef model = network();
    const StopScope scope({nullptr, std::chrono::steady_clock::now()});
    CHECK_THROWS_WITH(prepare(model, options), Catch::Contains("deadline"));
    CHECK(model.training.empty());
  }
}

TEST_CASE("long walks over a graph look at the deadline themselves") {
  ModelDef model = network();
  NodeDef node;
  node.op = "Identity";
  node.inputs = {"x"};
  node.outputs = {"y"};
  const StopScope scope({nullptr, std::chrono::steady_clock::now()});
  const auto walk = [&] {
    for (int i = 0; i < 100'000; ++i) reads_of(node);
  };
  CHECK_THROWS_WITH(walk(), Catch::Contains("deadline"));
  const std::vector<NodeDef> nodes(100'000, node);
  CHECK_THROWS_WITH(producers_of(nodes), Catch::Contains("deadline"));
}
