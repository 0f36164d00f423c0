// State of a model after the system runs out of memory within a call.
#include <memory>
#include <optional>

#include <catch2/catch.hpp>

#include <ondine/build.h>
#include <ondine/model.h>

#include "core/parallel.h"
#include "tests/support/models.h"
#include "tests/support/random_tensor.h"
#include "tests/trainer/shortage_sweep.h"

using namespace ondine;
using namespace ondine::test;

namespace {

NamedValues feeds() {
  Tensor labels(DType::int64, {6});
  for (std::int64_t i = 0; i < 6; ++i) labels.mutable_values<std::int64_t>()[i] = i % 4;
  return {{"x", random_floats({6, 8}, 1)}, {"label", labels}};
}

// All that a call may change.
struct Snapshot {
  std::vector<Tensor> state;
  std::uint64_t seed;
  std::uint64_t steps;

  explicit Snapshot(const Model& model) : seed(model.seed()), steps(model.steps()) {
    for (const StateInfo& info : model.state()) state.push_back(model.get_state(info.name));
  }
  bool operator==(const Snapshot& other) const {
    return seed == other.seed && steps == other.steps &&
           std::equal(state.begin(), state.end(), other.state.begin(), other.state.end(),
                      [](const Tensor& a, const Tensor& b) { return a.identical(b); });
  }
};

void check_identical(const NamedValues& got, const NamedValues& want) {
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CHECK(got[i].first == want[i].first);
    CHECK(got[i].second.tensor().identical(want[i].second.tensor()));
  }
}

// change(model) changes all or nothing, and goes on after a failure as if there had been none.
// `cold`: as the first call of a model. Nothing of a failed call outlives the model.
template <class Change>
void check_all_or_nothing(const Change& change, bool cold, std::size_t most = 8000) {
  const auto bytes = encode(dropout_classifier());
  const auto fresh = [&] {
    auto model = std::make_unique<Model>(Model::load(bytes));
    model->initialize(7);
    const NamedValues one = feeds();
    for (int i = 0; i < 2; ++i) model->train_step(one);
    if (cold) model->set_threads(1);
    return model;
  };
  auto model = fresh();
  const Snapshot before(*model);
  change(*model);
  const Snapshot after(*model);
  REQUIRE_FALSE(before == after);
  model.reset();
  std::size_t live = 0;
  sweep_shortages(
      [&] {
        live = live_allocations();
        model = fresh();
      },
      [&] { change(*model); },
      [&](bool refused) {
        CHECK(Snapshot(*model) == (refused ? before : after));
        if (refused) {
          change(*model);
          CHECK(Snapshot(*model) == after);
        }
        model.reset();
        CHECK(live_allocations() == live);
      },
      most);
}

// A call that changes nothing, keeps nothing and gives the same, seen by view(result), whenever it
// ends well.
template <class Call, class View>
void check_pure(const Call& call, const View& view, std::size_t most = 8000) {
  const auto want = view(call());
  std::optional<decltype(call())> got;
  std::size_t live = 0;
  sweep_shortages([&] { live = live_allocations(); }, [&] { got.emplace(call()); },
                  [&](bool refused) {
                    CHECK(got.has_value() != refused);
                    if (got) CHECK(view(*got) == want);
                    got.reset();
                    CHECK(live_allocations() == live);
                  },
                  most);
}

const auto itself = [](const auto& result) { return result; };
const auto names = [](const auto& list) {
  std::vector<std::string> all;
  for (const auto& one : list) all.push_back(one.name);
  return all;
};

}  // namespace

TEST_CASE("loading without memory is refused and leaves nothing") {
  const auto bytes = encode(dropout_classifier());
  const auto fingerprint = [](const Model& model) { return model.fingerprint(); };
  check_pure([&] { return Model::load(bytes); }, fingerprint, 2000);
  LoadOptions two;
  two.threads = 2;
  check_pure([&] { return Model::load(bytes, two); }, fingerprint, 40);
}

TEST_CASE("a step without memory leaves the state bit for bit") {
  const NamedValues one = feeds();
  const std::vector<std::string> fetches{"loss"};
  check_all_or_nothing([&](Model& model) { model.train_step(one); }, true, 1000);
  check_all_or_nothing([&](Model& model) { model.train_step(one, 0, fetches); }, false);
}

TEST_CASE("initialization without memory leaves the state bit for bit") {
  check_all_or_nothing([](Model& model) { model.initialize(3); }, true);
}

TEST_CASE("state is set whole or not at all when memory runs out") {
  const Tensor w1 = random_floats({8, 16}, 5);
  const Tensor b2 = random_floats({4}, 6);
  const NamedValues two{{"w1", w1}, {"b2", b2}};
  check_all_or_nothing([&](Model& model) { model.set_state("w1", w1); }, false);
  check_all_or_nothing([&](Model& model) { model.set_state(two); }, false);
  const std::vector<float> flat(8 * 16 + 16 + 16 * 4 + 4, 0.5F);
  check_all_or_nothing([&](Model& model) { model.set_parameters(flat); }, false);
}

TEST_CASE("inference without memory is refused and comes out the same afterwards") {
  Model model = Model::load(encode(dropout_classifier()));
  const NamedValues fed{feeds()[0]};
  const NamedValues want = model.infer(fed);
  NamedValues got;
  for (const bool cold : {true, false}) {
    sweep_shortages(
        [&] {
          if (cold) model.set_threads(1);
        },
        [&] { got = model.infer(fed); },
        [&](bool refused) {
          if (!refused) check_identical(got, want);
          check_identical(model.infer(fed), want);
        });
  }
}

TEST_CASE("operators that allocate while they run refuse without memory") {
  ModelBuilder builder("dynamic", 18);
  builder.input("x", DType::float32, {"N", std::int64_t{8}});
  builder.node("NonZero", "", {"x"}, {"places"});
  builder.node("Unique", "", {"x"}, {"values"});
  builder.node("SplitToSequence", "", {"x"}, {"rows"}, {{"axis", std::int64_t{0}}});
  builder.node("ConcatFromSequence", "", {"rows"}, {"again"}, {{"axis", std::int64_t{0}}});
  builder.node("Einsum", "", {"x", "again"}, {"gram"}, {{"equation", std::string("ni,mi->nm")}});
  builder.output("places", DType::int64, {std::int64_t{2}, "K"});
  builder.output("values", DType::float32, {"U"});
  builder.output("gram", DType::float32, {"N", "N"});
  const Model model = Model::load(builder.bytes());
  const NamedValues fed{feeds()[0]};
  const NamedValues want = model.infer(fed);
  NamedValues got;
  sweep_shortages([&] { got = model.infer(fed); },
                  [&](bool refused) {
                    if (!refused) check_identical(got, want);
                    check_identical(model.infer(fed), want);
                  });
}

TEST_CASE("describing a model without memory is an error") {
  Model model = Model::load(encode(dropout_classifier()));
  const NamedValues fed = feeds();
  const NamedValues x{fed[0]};
  model.set_profiling(true);
  model.infer(x);
  check_pure([&] { return model.inputs(); }, names);
  check_pure([&] { return model.outputs(); }, names);
  check_pure([&] { return model.algorithm(0); },
             [](const AlgorithmInfo& info) { return names(info.inputs); });
  check_pure([&] { return model.state(); }, names);
  check_pure([&] { return model.profile(); }, [](const auto& list) { return list.size(); });
  check_pure([&] { return model.parameters(); }, itself);
  check_pure([&] { return model.fingerprint(); }, itself);
  check_pure([&] { return model.get_state("w1"); },
             [](const Tensor& tensor) { return tensor.values<float>()[3]; });
  check_pure([&] { return model.inspect("model"); }, itself);
  check_pure([&] { return model.inspect("optimized"); }, itself, 60);
  sweep_shortages([&] { model.set_threads(1); }, [&] { model.plan(fed, 0); }, [](bool) {}, 60);
  sweep_shortages([&] { model.set_threads(3); }, [](bool) {});
  model.infer(x);
}

TEST_CASE("a chunk on another thread that has no memory fails the call, not the program") {
  ThreadPool pool(3);
  for (int round = 0; round < 50; ++round) {
    const auto work = [&] {
      pool.for_chunks(64, 1, [](std::int64_t first, std::int64_t) {
        const std::vector<std::int64_t> some(100, first);
        if (some[99] != first) throw Error(ErrorCode::internal, "lost");
      });
    };
    bool refused = false;
    {
      const FailingAllocation failing(1 + static_cast<std::size_t>(round), Shortage::lasting);
      try {
        work();
      } catch (const std::bad_alloc&) {
        refused = true;
      }
    }
    CHECK(refused);
    work();
  }
}
