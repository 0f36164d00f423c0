// Rounds of a node with a SuperLink that behaves.
#include <catch2/catch.hpp>
#include <cmath>
#include <sstream>
#include <thread>

#include "tests/trainer/federated/fake_superlink.h"
#include "tests/trainer/fit/small_task.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

// The weights after a round that is done by hand.
Model trained_by_hand(std::uint64_t epochs, std::uint64_t seed, std::optional<float> rate = {}) {
  Model model = line_model();
  model.set_state(line_weights());
  Trainer trainer(model, {.epochs = epochs, .batch_size = 4, .seed = seed, .learning_rate = rate});
  trainer.fit(Dataset::from(line_data(10)));
  return model;
}

void require_weights(const NamedValues& arrays, const Model& model) {
  for (const auto& [name, value] : arrays) {
    INFO(name);
    CHECK(value.tensor().identical(model.get_state(name)));
  }
}

}  // namespace

TEST_CASE("a node trains the weights of a message and replies with them, metrics and examples") {
  FakeSuperlink superlink;
  LineNode node(superlink);
  const federated::Parcel message = make_message({.arrays = line_weights()});
  superlink.deliver(message);
  const FederatedReport report = node.run();
  CHECK(report.answered == 1);
  CHECK(report.failed == 0);
  CHECK_FALSE(report.stopped);
  REQUIRE(superlink.replies.size() == 1);
  const federated::Parcel& reply = superlink.replies[0];
  const Model expected = trained_by_hand(2, 3);
  require_weights(arrays_of(reply, federated::exchanged(node.model)), expected);
  CHECK(same_state(node.model, expected));
  const fleet::Record metrics = record_of(reply, "metrics");
  CHECK(metrics.size() == 2);
  CHECK(value_of(metrics, "num-examples") == fleet::Scalar(std::int64_t{10}));
  CHECK(std::get<double>(value_of(metrics, "loss")) > 0);
  REQUIRE(node.told.size() == 1);
  CHECK(node.told[0].examples == 10);
  CHECK(node.told[0].type == "train");
  CHECK(superlink.confirmed.contains(message.message.metadata.id));
}

TEST_CASE("a reply goes back to the message's sender and ends when the message does") {
  FakeSuperlink superlink;
  LineNode node(superlink);
  const federated::Parcel message = make_message({.arrays = line_weights()});
  superlink.deliver(message);
  node.run();
  const fleet::Metadata& sent = message.message.metadata;
  const fleet::Metadata& reply = superlink.replies.at(0).message.metadata;
  CHECK(reply.run == sent.run);
  CHECK(reply.source == sent.destination);
  CHECK(reply.destination == sent.source);
  CHECK(reply.reply_to == sent.id);
  CHECK(reply.group == sent.group);
  CHECK(reply.type == sent.type);
  CHECK(reply.destination_task == sent.source_task);
  CHECK_FALSE(reply.source_task);
  CHECK(reply.created + reply.seconds_to_live == Approx(sent.created + sent.seconds_to_live));
}

TEST_CASE("an evaluation is answered with metrics of the validation part and without arrays") {
  FakeSuperlink superlink;
  LineNode node(superlink);
  const NamedValues rows = line_data(16);
  node.data = Dataset::from(line_data(10), rows);
  superlink.deliver(make_message({.type = "evaluate", .arrays = line_weights()}));
  CHECK(node.run().failed == 0);
  const federated::Parcel& reply = superlink.replies.at(0);
  const fleet::Record metrics = record_of(reply, "metrics");
  CHECK(record_of(reply, "arrays").empty());
  CHECK(value_of(metrics, "num-examples") == fleet::Scalar(std::int64_t{16}));
  const auto x = rows[0].second.tensor().values<float>();
  const auto t = rows[1].second.tensor().values<float>();
  double loss = 0;
  for (std::size_t i = 0; i < 16; ++i) {
    const double y = 0.5 * static_cast<double>(x[2 * i]) - 0.25 * static_cast<double>(x[2 * i + 1]);
    loss += std::pow(y + 0.125 - static_cast<double>(t[i]), 2) / 16;
  }
  CHECK(std::get<double>(value_of(metrics, "loss")) == Approx(loss).epsilon(1e-5));
  require_weights(line_weights(), node.model);
}

TEST_CASE("a query tells examples, arrays and the model's fingerprint and needs no arrays") {
  FakeSuperlink superlink;
  LineNode node(superlink);
  superlink.deliver(make_message({.type = "query"}));
  CHECK(node.run().failed == 0);
  const federated::Parcel& reply = superlink.replies.at(0);
  CHECK(value_of(record_of(reply, "metrics"), "num-examples") == fleet::Scalar(std::int64_t{10}));
  const fleet::Record facts = record_of(reply, "config");
  CHECK(value_of(facts, "fingerprint") == fleet::Scalar(node.model.fingerprint()));
  CHECK(value_of(facts, "arrays") == fleet::Scalar(std::vector<std::string>{"w", "b"}));
  CHECK(same_state(node.model, line_model()));
}

TEST_CASE("a message sets epochs, learning rate and seed of its round") {
  FakeSuperlink superlink;
  LineNode node(superlink);
  superlink.deliver(make_message({.arrays = line_weights(),
                                  .config = {{"epochs", std::int64_t{3}},
                                             {"learning-rate", 0.01},
                                             {"seed", std::uint64_t{9}},
                                             {"server-round", std::int64_t{4}},
                                             {"proximal-mu", 0.0},
                                             {"colour", std::string("red")}}}));
  Model model = line_model();
  const bool has_rate = [&] {
    try {
      model.set_learning_rate(0.01F);
      return true;
    } catch (const Error&) {
      return false;
    }
  }();
  const FederatedReport report = node.run();
  if (!has_rate) {
    CHECK(report.failed == 1);
    return;
  }
  CHECK(report.failed == 0);
  CHECK(same_state(node.model, trained_by_hand(3, 9, 0.01F)));
  CHECK(node.told.at(0).round == 4);
  CHECK_THAT(node.notes.at(0), Contains("setting 'colour' of the message has no effect"));
}

TEST_CASE("rounds without a seed of their own shuffle by the node's seed and the round") {
  for (const std::int64_t round : {1, 2}) {
    FakeSuperlink superlink;
    LineNode node(superlink);
    superlink.deliver(
        make_message({.arrays = line_weights(), .config = {{"server-round", round}}}));
    node.run();
    CHECK(same_state(node.model, trained_by_hand(2, 3 + static_cast<std::uint64_t>(round))));
  }
}

TEST_CASE("a round starts from the weights of its message, whatever the round before trained") {
  FakeSuperlink superlink;
  LineNode node(superlink);
  node.model = classifier_model();
  node.data = Dataset::from(classes_data(12));
  NamedValues weights;
  for (const StateInfo& one : federated::exchanged(node.model)) {
    weights.emplace_back(one.name, node.model.get_state(one.name));
  }
  superlink.deliver(make_message({.arrays = weights}));
  superlink.deliver(make_message({.arrays = weights, .seconds_to_live = 900}));
  node.options.messages = 2;
  CHECK(node.run().failed == 0);
  REQUIRE(superlink.replies.size() == 2);
  const auto wanted = federated::exchanged(node.model);
  const NamedValues first = arrays_of(superlink.replies[0], wanted);
  const NamedValues second = arrays_of(superlink.replies[1], wanted);
  for (std::size_t i = 0; i < first.size(); ++i) {
    CHECK(first[i].second.tensor().identical(second[i].second.tensor()));
    CHECK_FALSE(first[i].second.tensor().identical(weights[i].second.tensor()));
  }
}

TEST_CASE("metrics go under the names that the options give them") {
  FakeSuperlink superlink;
  LineNode node(superlink);
  node.options.train_metrics = {{"train_loss", "loss"}};
  superlink.deliver(make_message({.arrays = line_weights()}));
  node.run();
  const fleet::Record metrics = record_of(superlink.replies.at(0), "metrics");
  CHECK(metrics.size() == 2);
  CHECK(std::holds_alternative<double>(value_of(metrics, "train_loss")));

  LineNode other(superlink);
  other.options.train_metrics = {{"train_f1", "f1"}};
  superlink.deliver(make_message({.arrays = line_weights()}));
  CHECK(other.run().failed == 1);
  CHECK_THAT(superlink.replies.at(1).message.failure.value().reason,
             Contains("there is no metric 'f1' for 'train_f1' of the reply, only loss"));
}

TEST_CASE("a node registers where its key is not known, and says so where it may not") {
  FakeSuperlink superlink;
  LineNode node(superlink);
  superlink.deliver(make_message({.type = "query"}));
  node.run();
  CHECK(superlink.order[0] == "activate-node");
  CHECK(superlink.order[1] == "register-node");
  CHECK(superlink.order[2] == "activate-node");
  CHECK(superlink.order.back() == "deactivate-node");

  FakeSuperlink closed;
  closed.takes_registrations = false;
  LineNode stranger(closed);
  CHECK_THROWS_WITH(stranger.run(), Contains("register the node's public key there"));
}

TEST_CASE("a node joins again where the SuperLink has forgotten it") {
  FakeSuperlink superlink;
  LineNode node(superlink);
  bool restarted = false;
  superlink.before = [&](std::string_view name, const std::string&) {
    if (name == "pull-messages" && !restarted) {
      restarted = true;
      superlink.is_registered = false;
      superlink.node = 42;
      superlink.deliver(make_message({.arrays = line_weights(), .destination = 42}));
    }
    return std::optional<federated::Answer>();
  };
  CHECK(node.run().answered == 1);
  CHECK(superlink.calls["register-node"] == 2);
  CHECK(superlink.replies.at(0).message.metadata.source == 42);
}

TEST_CASE("heartbeats go on while a node works") {
  FakeSuperlink superlink;
  LineNode node(superlink);
  node.options.heartbeat = std::chrono::milliseconds(2);
  // Each step waits for the first of them.
  const auto count = [&] {
    const std::scoped_lock lock(superlink.mutex);
    return superlink.confirmed.empty() ? 1 : superlink.calls["send-node-heartbeat"];
  };
  node.goes_on = [&] {
    for (int i = 0; i < 2000 && count() == 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  };
  superlink.deliver(make_message({.arrays = line_weights()}));
  CHECK(node.run().failed == 0);
  CHECK(superlink.calls["send-node-heartbeat"] > 0);
}

TEST_CASE("a message is told in a line with its round, metrics, examples and time") {
  FederatedMessage message;
  message.type = "train";
  message.round = 2;
  message.metrics.set("loss", 0.25);
  message.examples = 600;
  message.seconds = 1.5321;
  const auto text = [&] {
    std::ostringstream out;
    out << message;
    return out.str();
  };
  CHECK(text() == "round 2: train, loss 0.25 on 600 examples, 1.5 s");
  message.seconds = 0.30049;
  message.round = 0;
  CHECK(text() == "train, loss 0.25 on 600 examples, 0.3 s");
  message.failure = "no \x1b[31m";
  CHECK(text() == "train, failed: no \\x1b[31m");
}
