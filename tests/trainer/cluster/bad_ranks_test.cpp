// Ranks that do not fit together, and what one of them fails at.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/support/models.h"
#include "tests/support/temporary_folder.h"
#include "tests/trainer/cluster/on_ranks.h"
#include "tests/trainer/fit/small_task.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

struct Part {
  std::function<Model(std::size_t rank)> model = [](std::size_t) { return line_model(); };
  std::function<Dataset(std::size_t rank)> data = [](std::size_t) {
    return Dataset::from(line_data(32));
  };
  std::function<TrainerOptions(std::size_t rank)> options = [](std::size_t) {
    return TrainerOptions{.epochs = 2, .batch_size = 8};
  };
};

std::vector<std::string> fit(const Part& part, std::size_t size = 2) {
  return on_ranks(size, [&](std::shared_ptr<Communicator> ranks) {
    const std::size_t rank = ranks->rank();
    Model model = part.model(rank);
    TrainerOptions options = part.options(rank);
    options.communicator = std::move(ranks);
    Trainer(model, options).fit(part.data(rank));
  });
}

void require_refused(const Part& part, const std::string& text) {
  for (const std::string& error : fit(part)) CHECK_THAT(error, Contains(text));
}

}  // namespace

TEST_CASE("ranks with other models, states, options or data are refused by name") {
  Part part;
  part.model = [](std::size_t rank) {
    return Model::load(encode(linear_regression(rank == 0 ? 0.05F : 0.04F)));
  };
  require_refused(part, "rank 1 differs from rank 0 in: the model");
  part = {};
  part.model = [](std::size_t rank) {
    Model model = line_model();
    if (rank == 1) model.set_state(NamedValues{{"b", Tensor(DType::float32, {1})}});
    if (rank == 1) model.set_state(NamedValues{{"w", Tensor(DType::float32, {2, 1})}});
    return model;
  };
  require_refused(part, "the state of the model");
  part = {};
  part.options = [](std::size_t rank) {
    return TrainerOptions{.epochs = 2 + rank, .batch_size = 8};
  };
  require_refused(part, "the options");
  part = {};
  part.data = [](std::size_t rank) {
    NamedValues data = line_data(32);
    if (rank == 1) data[1].second.tensor().mutable_values<float>()[0] += 1;
    return Dataset::from(data);
  };
  require_refused(part, "the training data");
}

TEST_CASE("batches and micro-shards that cannot be divided are refused") {
  Part part;
  part.options = [](std::size_t) { return TrainerOptions{.batch_size = 10}; };
  require_refused(part, "--batch-size 10 cannot be divided into 4 equal micro-shards");
  part.options = [](std::size_t) { return TrainerOptions{.batch_size = 9, .micro_shards = 3}; };
  require_refused(part, "3 micro-shards (--micro-shards) cannot be divided among 2 ranks");
  part.options = [](std::size_t) { return TrainerOptions{.batch_size = 12, .micro_shards = 6}; };
  require_refused(part, "which is not a power of 2");
  part.options = [](std::size_t) {
    return TrainerOptions{.batch_size = 8, .micro_shards = 4, .fast_reduce = true};
  };
  require_refused(part, "does not go with --micro-shards");
  Model model = line_model();
  CHECK_THROWS_WITH(Trainer(model, {.fast_reduce = true}), Contains("mpirun"));
}

TEST_CASE("a label that is wrong on one rank ends all, and the checkpoint is whole") {
  const TemporaryFolder folder;
  Part part;
  part.model = [](std::size_t) { return classifier_model(); };
  part.data = [](std::size_t) {
    NamedValues data = classes_data(32);
    data[1].second.tensor().mutable_values<std::int64_t>()[9] = 77;
    return Dataset::from(data);
  };
  part.options = [&](std::size_t) {
    return TrainerOptions{.epochs = 2, .batch_size = 8, .checkpoint = folder / "run.ckpt"};
  };
  const auto errors = fit(part);
  CHECK_THAT(errors[0], Contains("77"));
  CHECK(errors[0] == errors[1]);
  CHECK_THAT(errors[0], Contains("rank 0: ") || Contains("rank 1: "));
  Model model = classifier_model();
  CHECK_NOTHROW(model.restore_checkpoint(folder / "run.ckpt"));
}

TEST_CASE("a loss or a gradient that is not finite ends all ranks by its name") {
  Part part;
  part.data = [](std::size_t) {
    NamedValues data = line_data(32);
    data[0].second.tensor().mutable_values<float>()[20] = std::numeric_limits<float>::quiet_NaN();
    return Dataset::from(data);
  };
  const auto errors = fit(part);
  CHECK(errors[0] == errors[1]);
  CHECK_THAT(errors[0], Contains("loss is nan") && Contains("input 'x'") && Contains("epoch 1"));
  part.data = [](std::size_t) {
    NamedValues data = line_data(32);
    // Weights of 0 make the loss finite, but not its derivative.
    data[0].second.tensor().mutable_values<float>()[20] = 3e38F;
    data[1].second.tensor().mutable_values<float>()[10] = 3e18F;
    return Dataset::from(data);
  };
  part.model = [](std::size_t) {
    Model model = line_model();
    model.set_state(NamedValues{{"w", Tensor(DType::float32, {2, 1})}});
    return model;
  };
  part.options = [](std::size_t) { return TrainerOptions{.batch_size = 32}; };
  require_refused(part, "the derivative by 'w', has elements that are not finite");
}

TEST_CASE("a checkpoint that the first rank cannot write ends all ranks") {
  Part part;
  part.options = [](std::size_t) {
    return TrainerOptions{.batch_size = 8, .checkpoint = "/nowhere/run.ckpt"};
  };
  const auto errors = fit(part);
  CHECK_THAT(errors[0], Contains("/nowhere/run.ckpt"));
  CHECK(errors[0] == errors[1]);
}

TEST_CASE("losses that are sums over rows cannot be averaged") {
  Part part;
  part.model = [](std::size_t) {
    graph::ModelDef def = linear_regression(0.01F);
    for (graph::NodeDef& one : def.training[0].algorithm->nodes) {
      if (one.op == "ReduceMean") one.op = "ReduceSum";
    }
    return Model::load(encode(def));
  };
  require_refused(part, "is a sum over rows, by node");
}
