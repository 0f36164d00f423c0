// Requests that come without a SuperLink.
#include <catch2/catch.hpp>
#include <limits>

#include <ondine/federated_worker.h>

#include "tests/trainer/federated/fake_superlink.h"
#include "tests/trainer/fit/small_task.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

// Options of LineNode.
FederatedOptions two_epochs() {
  FederatedOptions options;
  options.trainer = {.epochs = 2, .batch_size = 4, .seed = 3};
  return options;
}

FederatedWorker line_worker(FederatedOptions options = two_epochs()) {
  return {line_model(), Dataset::from(line_data(10)), std::move(options)};
}

std::string refusal(FederatedWorker& worker, const FederatedRequest& request, ErrorCode code) {
  try {
    worker.answer(request);
  } catch (const Error& error) {
    CHECK(error.code() == code);
    return error.message();
  }
  return {};
}

}  // namespace

TEST_CASE("a worker answers with the bits of a node") {
  const FederatedRecord settings{{"epochs", std::int64_t{3}},
                                 {"server-round", std::int64_t{2}},
                                 {"proximal-mu", 0.5},
                                 {"colour", std::string("red")}};
  FakeSuperlink superlink;
  LineNode node(superlink);
  superlink.deliver(make_message({.arrays = line_weights(), .config = settings}));
  node.run();
  REQUIRE(node.told.at(0).failure == "");
  const federated::Parcel& reply = superlink.replies.at(0);

  FederatedWorker worker = line_worker();
  CHECK(worker.arrays().size() == 2);
  const FederatedAnswer answer = worker.answer({.arrays = line_weights(), .settings = settings});
  const NamedValues expected = arrays_of(reply, worker.arrays());
  REQUIRE(answer.arrays.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(answer.arrays[i].first == expected[i].first);
    CHECK(answer.arrays[i].second.tensor().identical(expected[i].second.tensor()));
  }
  CHECK(answer.metrics == record_of(reply, "metrics"));
  CHECK(answer.round == 2);
  REQUIRE(answer.notes.size() == 1);
  CHECK_THAT(answer.notes[0], Contains("'colour'"));
}

TEST_CASE("what a worker refuses is named and changes nothing") {
  FederatedWorker worker = line_worker();
  const FederatedAnswer first = worker.answer({.arrays = line_weights()});
  NamedValues arrays = line_weights();
  arrays.pop_back();
  CHECK(refusal(worker, {.arrays = arrays}, ErrorCode::mismatch) ==
        "array 'b' of the model is missing");
  arrays = line_weights();
  arrays.emplace_back("c", Tensor::scalar(1.0F));
  CHECK(refusal(worker, {.arrays = arrays}, ErrorCode::mismatch) ==
        "array 'c' is none of the model's");
  arrays = line_weights();
  arrays[1].second = Tensor::of<double>({1}, std::vector{0.5});
  CHECK_THAT(refusal(worker, {.arrays = arrays}, ErrorCode::mismatch),
             Contains("array 'b'") && Contains("'float64', the model's is float32"));
  arrays[1].second = Tensor::of<float>({2}, std::vector{0.5F, 1.0F});
  CHECK_THAT(refusal(worker, {.arrays = arrays}, ErrorCode::mismatch),
             Contains("array 'b': it has the shape '[2]'"));
  arrays[1].second = Value::sequence({});
  CHECK(refusal(worker, {.arrays = arrays}, ErrorCode::mismatch) == "array 'b': it is no tensor");
  arrays = line_weights();
  arrays[0].second.tensor().mutable_values<float>()[1] = std::numeric_limits<float>::quiet_NaN();
  CHECK(refusal(worker, {.arrays = arrays}, ErrorCode::not_finite) ==
        "array 'w': 1 of the numbers of the array is NaN or infinite");
  CHECK_THAT(refusal(worker, {.type = "train.fast"}, ErrorCode::unsupported), Contains("'fast'"));
  CHECK_THAT(
      refusal(worker, {.arrays = line_weights(), .settings = {{"lr", -1.0}}}, ErrorCode::mismatch),
      Contains("'lr'"));
  const FederatedAnswer again = worker.answer({.arrays = line_weights()});
  for (std::size_t i = 0; i < first.arrays.size(); ++i) {
    CHECK(first.arrays[i].second.tensor().identical(again.arrays[i].second.tensor()));
  }
}

TEST_CASE("a worker ends in time and where its caller asks it to") {
  FederatedWorker worker = line_worker();
  CHECK_THAT(refusal(worker, {.arrays = line_weights(), .time = std::chrono::milliseconds(0)},
                     ErrorCode::limit),
             Contains("time"));
  bool goes_on = false;
  worker.on_wait([&] { return goes_on; });
  CHECK_THAT(refusal(worker, {.arrays = line_weights()}, ErrorCode::cancelled),
             Contains("stopped"));
  goes_on = true;
  CHECK(worker.answer({.arrays = line_weights()}).arrays.size() == 2);
}

TEST_CASE("a worker refuses options of a connection, which has no effect without it") {
  const auto refused = [](const auto& set) {
    FederatedOptions options;
    set(options);
    CHECK_THROWS_WITH(line_worker(options), Contains("is one of a connection"));
  };
  refused([](FederatedOptions& to) { to.superlink = "a:1"; });
  refused([](FederatedOptions& to) { to.insecure = true; });
  refused([](FederatedOptions& to) { to.root_certificates = "ca.pem"; });
  refused([](FederatedOptions& to) { to.private_key = "key"; });
  refused([](FederatedOptions& to) { to.checkpoint = "node.ckpt"; });
  refused([](FederatedOptions& to) { to.messages = 1; });
  refused([](FederatedOptions& to) { to.poll = std::chrono::seconds(2); });
  refused([](FederatedOptions& to) { to.timeout = std::chrono::seconds(2); });
  refused([](FederatedOptions& to) { to.retry = std::chrono::seconds(2); });
  refused([](FederatedOptions& to) { to.heartbeat = std::chrono::seconds(2); });
  FederatedOptions options;
  options.trainer.report = "report.json";
  CHECK_THROWS_WITH(line_worker(options), Contains("no report"));
}
