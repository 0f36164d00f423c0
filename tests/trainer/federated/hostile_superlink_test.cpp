// A SuperLink that sends what does not fit, what is damaged, and what was there before.
#include <catch2/catch.hpp>
#include <limits>
#include <random>

#include "tests/support/temporary_folder.h"
#include "tests/trainer/federated/fake_superlink.h"
#include "tests/trainer/fit/small_task.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

// The reason of the error reply to a message; the node's model must be as it was.
std::string refusal(federated::Parcel message, const FederatedOptions* options = nullptr) {
  FakeSuperlink superlink;
  LineNode node(superlink);
  if (options != nullptr) node.options = *options;
  superlink.deliver(std::move(message));
  const FederatedReport report = node.run();
  CHECK(report.failed == 1);
  CHECK(same_state(node.model, line_model()));
  REQUIRE(superlink.replies.size() == 1);
  const federated::Parcel& reply = superlink.replies[0];
  REQUIRE(reply.message.failure);
  CHECK(reply.message.failure->code == 1);
  CHECK(reply.objects.size() == 1);  // the message alone, without children
  CHECK(node.told.at(0).failure == reply.message.failure->reason);
  return reply.message.failure->reason;
}

NamedValues weights_with(const std::string& name, Tensor value) {
  NamedValues weights = line_weights();
  for (auto& [one, tensor] : weights) {
    if (one == name) tensor = std::move(value);
  }
  return weights;
}

// A message whose objects are changed: those that begin with `kind` by `change`, which gives
// bodies, and all others that name them.
federated::Parcel changed(const federated::Parcel& from, const std::string& kind,
                          const std::function<void(std::string&)>& change) {
  federated::Parcel parcel = from;
  for (auto& [id, content] : parcel.objects) {
    if (content.starts_with(kind + " ")) change(content);
  }
  return parcel;
}

}  // namespace

TEST_CASE("arrays of another shape or type are refused by name and change nothing") {
  const Tensor long_w = Tensor::of<float>({3, 1}, std::vector{1.0F, 2.0F, 3.0F});
  CHECK_THAT(refusal(make_message({.arrays = weights_with("w", long_w)})),
             Contains("array 'w': it has the shape '[3, 1]', the model's has [2, 1]"));
  const Tensor flat_w = Tensor::of<float>({2}, std::vector{1.0F, 2.0F});
  CHECK_THAT(refusal(make_message({.arrays = weights_with("w", flat_w)})),
             Contains("array 'w': it has the shape '[2]'"));
  const Tensor wide_b = Tensor::of<double>({1}, std::vector{1.0});
  CHECK_THAT(refusal(make_message({.arrays = weights_with("b", wide_b)})),
             Contains("array 'b': it is of type 'float64', the model's is float32"));
}

TEST_CASE("missing and unknown arrays are refused by name") {
  NamedValues fewer = line_weights();
  fewer.pop_back();
  CHECK(refusal(make_message({.arrays = fewer})) == "array 'b' of the model is missing");
  NamedValues more = line_weights();
  more.emplace_back("c", Tensor::of<float>({1}, std::vector{1.0F}));
  CHECK(refusal(make_message({.arrays = more})) == "array 'c' is none of the model's");
  CHECK(refusal(make_message({})) == "the message has no record of arrays");
}

TEST_CASE("NaN and infinite numbers are refused with the name of their array") {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    const Tensor w = Tensor::of<float>({2, 1}, std::vector{1.0F, bad});
    CHECK_THAT(refusal(make_message({.arrays = weights_with("w", w)})),
               Contains("array 'w': 1 of the numbers of its file is NaN or infinite"));
  }
}

TEST_CASE("training that diverges is an error reply and leaves the model as it was") {
  const Tensor w = Tensor::of<float>({2, 1}, std::vector{3e38F, 3e38F});
  CHECK_THAT(refusal(make_message({.arrays = weights_with("w", w)})), Contains("finite"));
}

TEST_CASE("settings that a node cannot follow are refused by name") {
  const auto with = [](const std::string& key, fleet::Scalar value) {
    return refusal(make_message({.arrays = line_weights(), .config = {{key, std::move(value)}}}));
  };
  CHECK_THAT(with("epochs", std::int64_t{0}), Contains("'epochs' needs a whole number from 1"));
  CHECK_THAT(with("epochs", std::string("two")), Contains("'epochs' needs a whole number"));
  CHECK_THAT(with("epochs", std::int64_t{5000}), Contains("asks for 5000 epochs, this node does "));
  CHECK_THAT(with("seed", std::int64_t{-1}), Contains("'seed' needs a whole number from 0"));
  CHECK_THAT(with("learning-rate", std::numeric_limits<double>::quiet_NaN()),
             Contains("'learning-rate' needs a finite number"));
  CHECK_THAT(with("proximal-mu", -0.1), Contains("'proximal-mu' needs a finite number"));
}

TEST_CASE("messages of types and actions that a node does not have are refused") {
  CHECK_THAT(refusal(make_message({.type = "get_parameters"})), Contains("not 'get_parameters'"));
  CHECK_THAT(refusal(make_message({.type = "train.fast", .arrays = line_weights()})),
             Contains("this node has no action 'fast' for train messages"));
}

TEST_CASE("an object whose bytes do not have its id is refused") {
  const federated::Parcel message = make_message({.arrays = line_weights()});
  for (const std::string kind :
       {"Message", "RecordDict", "ConfigRecord", "ArrayRecord", "Array", "ArrayChunk"}) {
    INFO(kind);
    CHECK_THAT(refusal(changed(message, kind, [](std::string& bytes) { bytes.back() ^= 1; })),
               Contains("do not have its id"));
    CHECK_THAT(refusal(changed(message, kind, [](std::string& bytes) { bytes.clear(); })),
               Contains("do not have its id"));
  }
}

TEST_CASE("objects with right ids and wrong contents are refused") {
  const std::vector<std::string> bodies{"",
                                        "{",
                                        "[]",
                                        "{\"arrays\": 1}",
                                        "{\"arrays\": \"x\"}",
                                        std::string(4, '\0'),
                                        std::string(100'000, '[')};
  for (const char* kind : {"RecordDict", "ArrayRecord", "Array", "ArrayChunk", "Nothing"}) {
    for (const std::string& body : bodies) {
      federated::ObjectStore store;
      const fleet::Tree child = store.add(kind, {}, body);
      fleet::Message message = make_message({}).message;
      message.metadata.id.clear();
      message.metadata.id = store.add("Message", {child}, fleet::message_bytes(message, true)).id;
      CHECK_FALSE(refusal({message, std::move(store).take()}).empty());
    }
  }
}

TEST_CASE("any answer that is garbage ends in an error or a refusal and changes nothing") {
  std::mt19937 random(7);
  for (const std::string name : {"activate-node", "pull-messages", "pull-object",
                                 "confirm-message-received", "push-messages", "push-object"}) {
    for (int i = 0; i < 40; ++i) {
      FakeSuperlink superlink;
      LineNode node(superlink);
      superlink.deliver(make_message({.type = "query"}));
      std::string bytes(i == 0 ? 5'000'000 : random() % 200, '\0');
      for (char& one : bytes) one = static_cast<char>(random());
      superlink.before = [&](std::string_view call, const std::string&) {
        return call == name ? std::optional(federated::Answer{200, bytes}) : std::nullopt;
      };
      try {
        node.run();
      } catch (const Error& error) {
        CHECK(std::string(error.what()).size() > 10);
      }
      CHECK(same_state(node.model, line_model()));
    }
  }
}

TEST_CASE("statuses that say no end the call with what the SuperLink said") {
  for (const int status : {400, 401, 403, 404, 500}) {
    FakeSuperlink superlink;
    LineNode node(superlink);
    superlink.before = [&](std::string_view call, const std::string&) {
      return call == "pull-messages" ? std::optional(federated::Answer{status, "nothing \x1b[31m"})
                                     : std::nullopt;
    };
    CHECK_THROWS_WITH(node.run(),
                      Contains("refused 'pull-messages' with status " + std::to_string(status)) &&
                          Contains("nothing \\x1b[31m"));
  }
}

TEST_CASE("a message that was answered is refused when it comes again, also after a restart") {
  const TemporaryFolder folder;
  FakeSuperlink superlink;
  const federated::Parcel message = make_message({.arrays = line_weights()});
  {
    LineNode node(superlink);
    node.options.checkpoint = folder / "node.ckpt";
    node.options.messages = 2;
    superlink.deliver(message);
    superlink.deliver(message);
    superlink.deliver(make_message({.type = "query"}));
    const FederatedReport report = node.run();
    CHECK(report.answered == 2);
    CHECK(report.refused == 1);
    CHECK_THAT(node.notes.at(0), Contains("is refused: it was answered before"));
  }
  LineNode again(superlink);
  again.options.checkpoint = folder / "node.ckpt";
  superlink.deliver(message);
  superlink.deliver(make_message({.type = "query", .seconds_to_live = 900}));
  CHECK(again.run().refused == 1);
  CHECK(superlink.replies.size() == 3);
}

TEST_CASE("late messages and those for other nodes are refused without a reply") {
  FakeSuperlink superlink;
  LineNode node(superlink);
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const double now = federated::seconds_now();
  superlink.deliver(make_message({.arrays = line_weights(), .created = now - 2000}));
  superlink.deliver(make_message({.arrays = line_weights(), .seconds_to_live = nan}));
  superlink.deliver(make_message({.arrays = line_weights(), .destination = 40}));
  federated::Parcel other = make_message({.arrays = line_weights()});
  other.message.metadata.id = "../../etc";
  superlink.deliver(other);
  superlink.deliver(make_message({.type = "query"}));
  const FederatedReport report = node.run();
  CHECK(report.refused == 4);
  CHECK(report.answered == 1);
  CHECK(superlink.replies.size() == 1);
  CHECK(same_state(node.model, line_model()));
  CHECK_THAT(node.notes.at(0), Contains("its time is over"));
  CHECK_THAT(node.notes.at(2), Contains("it is for another node"));
}

TEST_CASE("a message whose metadata are others than its object says is refused") {
  federated::Parcel message = make_message({.arrays = line_weights()});
  message.message.metadata.type = "evaluate";
  CHECK_THAT(refusal(message), Contains("says something else than the message"));
}
