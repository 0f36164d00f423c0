// Steps of optimizers in other forms: lowered, continued from checkpoints, for old operator sets.
#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/support/temporary_folder.h"
#include "tests/trainer/lower/lowered_steps.h"
#include "tests/trainer/prepare/optimizers/reference.h"

using namespace ondine;
using namespace ondine::test;
using namespace ondine::test::optimizers;
using Catch::Contains;

namespace {

// Matrices for blocks of 8 bits, hidden ones and projections.
const Network network{{64, 70, 5, 3}};

Model prepared(const Network& net, const Optimizer& optimizer) {
  return prepare(net.model(),
                 {.loss = Loss::mse, .optimizer = optimizer, .init = WeightInit::keep});
}

std::vector<Optimizer> all_rules() {
  return {Lion{.learning_rate = 0.01F, .weight_decay = 0.1F},
          Adafactor{.weight_decay = 0.1F},
          Muon{.learning_rate = 0.01F, .weight_decay = 0.1F},
          ScheduleFree{.learning_rate = 0.01F, .weight_decay = 0.1F},
          AdamW8{.learning_rate = 0.01F, .weight_decay = 0.1F},
          GaLore{.learning_rate = 0.01F, .rank = 2, .every = 2, .weight_decay = 0.1F}};
}

void check_same(const Model& a, const Model& b) {
  for (const StateInfo& one : a.state()) {
    CAPTURE(one.name);
    CHECK(a.get_state(one.name).identical(b.get_state(one.name)));
  }
}

}  // namespace

TEST_CASE("a lowered step of an optimizer of ordinary operators follows the training") {
  for (const Optimizer& optimizer : all_rules()) {
    CAPTURE(optimizer.index());
    Model model = prepared(network, optimizer);
    check_lowered(model, network.feeds(), {}, 4);
  }
}

TEST_CASE("states of bytes, bases and norms go through checkpoints") {
  std::vector<Optimizer> all = all_rules();
  all.emplace_back(Apollo{.learning_rate = 0.01F, .rank = 2, .every = 3});
  all.emplace_back(Mezo{.learning_rate = 0.001F});
  const TemporaryFolder folder;
  for (const Optimizer& optimizer : all) {
    CAPTURE(optimizer.index());
    Model model = prepared(network, optimizer);
    for (int i = 0; i < 2; ++i) model.train_step(network.feeds());
    model.save_checkpoint(folder / "run.ckpt");
    Model other = prepared(network, optimizer);
    other.restore_checkpoint(folder / "run.ckpt");
    for (int i = 0; i < 3; ++i) {
      model.train_step(network.feeds());
      other.train_step(network.feeds());
    }
    check_same(model, other);
  }
}

TEST_CASE("optimizers say which operator sets they need") {
  Network old = network;
  old.opset = 8;
  CHECK_NOTHROW(prepared(old, Muon{}));
  CHECK_THROWS_WITH(prepared(old, AdamW8{}), Contains("8-bit AdamW") && Contains("8"));
  CHECK_THROWS_WITH(prepared(old, GaLore{.rank = 2}), Contains("optimizers of low rank"));
  CHECK_THROWS_WITH(prepared(old, Apollo{.rank = 2}), Contains("optimizers of low rank"));
  for (const Optimizer& optimizer : {Optimizer(Muon{}), Optimizer(GaLore{.rank = 2})}) {
    Network first = network;
    first.opset = 11;
    Model a = prepared(first, optimizer);
    Model b = prepared(network, optimizer);
    for (int i = 0; i < 3; ++i) {
      a.train_step(network.feeds());
      b.train_step(network.feeds());
    }
    for (const Variable& one : network.start()) {
      const Tensor x = a.get_state(one.name);
      const Tensor y = b.get_state(one.name);
      for (std::size_t i = 0; i < one.w.size(); ++i) {
        CHECK(x.values<double>()[i] == Approx(y.values<double>()[i]).margin(1e-9));
      }
    }
  }
}
