// Nodes that are killed, connections that break, and what is kept beside the checkpoint.
#include <catch2/catch.hpp>
#include <fstream>

#include "tests/support/temporary_folder.h"
#include "tests/trainer/federated/fake_superlink.h"
#include "tests/trainer/fit/small_task.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

// Arrays that a node replies if nothing disturbs it.
NamedValues undisturbed() {
  FakeSuperlink superlink;
  LineNode node(superlink);
  superlink.deliver(make_message({.arrays = line_weights()}));
  node.run();
  return arrays_of(superlink.replies.at(0), federated::exchanged(node.model));
}

void require_reply(const FakeSuperlink& superlink, const NamedValues& expected) {
  REQUIRE(superlink.replies.size() == 1);
  const auto wanted = federated::exchanged(line_model());
  const NamedValues arrays = arrays_of(superlink.replies[0], wanted);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    CHECK(arrays[i].second.tensor().identical(expected[i].second.tensor()));
  }
}

// Runs a node on the files of one before until nothing is left to do.
FederatedReport run_again(FakeSuperlink& superlink, const std::filesystem::path& checkpoint) {
  LineNode node(superlink);
  node.options.checkpoint = checkpoint;
  superlink.calls.clear();
  node.goes_on = [&] { return superlink.calls["pull-messages"] < 3; };
  return node.run();
}

std::size_t count_files(const std::filesystem::path& folder) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

}  // namespace

TEST_CASE("a node that is killed at any call after the message was kept replies when it is back") {
  const NamedValues expected = undisturbed();
  std::size_t replies = 0;
  for (const bool is_done : {false, true}) {  // whether the SuperLink had done what was asked
    bool was_killed = true;
    for (int at = 1; was_killed; ++at) {
      CAPTURE(at, is_done);
      const TemporaryFolder folder;
      FakeSuperlink superlink;
      superlink.deliver(make_message({.arrays = line_weights()}));
      int calls = 0;
      const auto kill = [&](std::string_view, const std::string&) {
        if (++calls == at) throw Killed();
        return std::optional<federated::Answer>();
      };
      (is_done ? superlink.after : superlink.before) = kill;
      was_killed = false;
      try {
        LineNode node(superlink);
        node.options.checkpoint = folder / "node.ckpt";
        node.run();
      } catch (const Killed&) {
        was_killed = true;
      }
      superlink.before = superlink.after = {};
      const bool was_kept = std::filesystem::exists(folder / "node.ckpt.message") ||
                            std::filesystem::exists(folder / "node.ckpt.reply");
      run_again(superlink, folder / "node.ckpt");
      if (was_kept || !superlink.replies.empty()) {
        require_reply(superlink, expected);
        ++replies;
      } else {
        CHECK(superlink.confirmed.empty());
        CHECK(superlink.waiting.empty());
      }
      CHECK_FALSE(std::filesystem::exists(folder / "node.ckpt.message"));
      CHECK_FALSE(std::filesystem::exists(folder / "node.ckpt.reply"));
    }
  }
  CHECK(replies > 20);
}

TEST_CASE("a node that was killed leaves before it joins again, for the SuperLink has it online") {
  const TemporaryFolder folder;
  FakeSuperlink superlink;
  superlink.refusals_until_lost = 1000;
  superlink.before = [](std::string_view name, const std::string&) {
    if (name == "pull-messages") throw Killed();
    return std::optional<federated::Answer>();
  };
  {
    LineNode node(superlink);
    node.options.checkpoint = folder / "node.ckpt";
    CHECK_THROWS_AS(node.run(), Killed);
  }
  CHECK(superlink.is_online);
  superlink.before = {};
  superlink.order.clear();
  superlink.deliver(make_message({.arrays = line_weights()}));
  CHECK(run_again(superlink, folder / "node.ckpt").answered == 1);
  CHECK(superlink.order.at(0) == "deactivate-node");
  CHECK(superlink.order.at(1) == "activate-node");
  CHECK(superlink.calls["register-node"] == 0);
  CHECK_FALSE(std::filesystem::exists(folder / "node.ckpt.number"));
}

TEST_CASE("a number of a SuperLink that has forgotten the node does no harm") {
  const TemporaryFolder folder;
  std::ofstream(folder / "node.ckpt.number") << "77\n";
  FakeSuperlink superlink;
  superlink.deliver(make_message({.arrays = line_weights()}));
  CHECK(run_again(superlink, folder / "node.ckpt").answered == 1);
  CHECK(superlink.calls["register-node"] == 1);
}

TEST_CASE("a node without its number joins when the SuperLink misses the one that was killed") {
  FakeSuperlink superlink;
  superlink.is_registered = superlink.is_online = true;
  superlink.deliver(make_message({.arrays = line_weights()}));
  LineNode node(superlink);
  CHECK(node.run().answered == 1);
  CHECK(superlink.calls["activate-node"] == 2);

  FakeSuperlink busy;
  busy.is_registered = busy.is_online = true;
  busy.refusals_until_lost = 1000;
  LineNode second(busy);
  second.options.retry = std::chrono::milliseconds(300);
  CHECK_THROWS_WITH(second.run(), Contains("a node with this key is online there"));
}

TEST_CASE("a connection that breaks at any call is tried again") {
  const NamedValues expected = undisturbed();
  bool was_broken = true;
  for (int at = 1; was_broken; at += 3) {
    CAPTURE(at);
    FakeSuperlink superlink;
    LineNode node(superlink);
    node.options.retry = std::chrono::seconds(20);
    superlink.deliver(make_message({.arrays = line_weights()}));
    int calls = 0;
    was_broken = false;
    superlink.before = [&](std::string_view name, const std::string&) {
      if (++calls != at || name == "deactivate-node") return std::optional<federated::Answer>();
      was_broken = true;
      if (at % 2 == 0) return std::optional(federated::Answer{503, "starting"});
      throw Error(ErrorCode::io, "the connection broke");
    };
    CHECK(node.run().failed == 0);
    require_reply(superlink, expected);
  }
}

TEST_CASE("a node ends where the SuperLink is away for too long and keeps its reply") {
  const TemporaryFolder folder;
  FakeSuperlink superlink;
  superlink.deliver(make_message({.arrays = line_weights()}));
  superlink.before = [](std::string_view name, const std::string&) {
    if (name == "push-messages") throw Error(ErrorCode::io, "the connection broke");
    return std::optional<federated::Answer>();
  };
  {
    LineNode node(superlink);
    node.options.checkpoint = folder / "node.ckpt";
    CHECK_THROWS_WITH(node.run(), Contains("the connection broke"));
    CHECK(std::filesystem::exists(folder / "node.ckpt.reply"));
  }
  superlink.before = {};
  CHECK(run_again(superlink, folder / "node.ckpt").answered == 1);
  require_reply(superlink, undisturbed());
}

TEST_CASE("a node that is stopped in a round does it again and leaves its model as it was") {
  const TemporaryFolder folder;
  FakeSuperlink superlink;
  superlink.deliver(make_message({.arrays = line_weights()}));
  {
    LineNode node(superlink);
    node.options.checkpoint = folder / "node.ckpt";
    node.goes_on = [&] { return superlink.confirmed.empty(); };
    const FederatedReport report = node.run();
    CHECK(report.stopped);
    CHECK(report.answered == 0);
    CHECK(same_state(node.model, line_model()));
  }
  CHECK(superlink.replies.empty());
  CHECK(run_again(superlink, folder / "node.ckpt").answered == 1);
  require_reply(superlink, undisturbed());
}

TEST_CASE("the checkpoint holds the weights of the last message") {
  const TemporaryFolder folder;
  FakeSuperlink superlink;
  LineNode node(superlink);
  node.options.checkpoint = folder / "node.ckpt";
  superlink.deliver(make_message({.arrays = line_weights()}));
  node.run();
  Model restored = line_model();
  const RestoreReport report = restored.restore_checkpoint(folder / "node.ckpt");
  CHECK(same_state(restored, node.model));
  CHECK_FALSE(same_state(restored, line_model()));
  CHECK(report.properties.size() == 3);
  CHECK(count_files(folder.path()) == 2);  // with the messages that were answered
}

TEST_CASE("files of a node that are damaged are named") {
  for (const std::string suffix : {".message", ".reply", ".answered", ".number"}) {
    const TemporaryFolder folder;
    std::ofstream(folder / ("node.ckpt" + suffix)) << "ondine-parcel 1\n and nothing of the kind, "
                                                      "but long enough for a checksum";
    FakeSuperlink superlink;
    LineNode node(superlink);
    node.options.checkpoint = folder / "node.ckpt";
    try {
      node.run();
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::corrupt);
      CHECK_THAT(error.what(), Contains("node.ckpt" + suffix));
    }
  }
}

TEST_CASE("two nodes cannot share a checkpoint") {
  const TemporaryFolder folder;
  federated::NodeFiles first(folder / "node.ckpt");
  first.lock();
  FakeSuperlink superlink;
  LineNode node(superlink);
  node.options.checkpoint = folder / "node.ckpt";
  CHECK_THROWS_AS(node.run(), Error);
  CHECK(superlink.order.empty());
}
