// Handles that are wrong in every way, from several threads.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include <ondine/c.h>
#include <ondine/model.h>

#include "tests/support/models.h"
#include "tests/support/random_tensor.h"

using namespace ondine;        // NOLINT
using namespace ondine::test;  // NOLINT

namespace {

// Code and message of an error, which it frees.
struct Outcome {
  explicit Outcome(ondine_error* error)
      : code(ondine_error_code(error)), message(ondine_error_message(error)) {
    ondine_error_free(error);
  }
  int code;
  std::string message;
};

ondine_model* load(const std::vector<std::byte>& bytes) {
  ondine_model* model = nullptr;
  const Outcome loaded(
      ondine_model_load_bytes(bytes.data(), bytes.size(), nullptr, nullptr, nullptr, &model));
  REQUIRE(loaded.message.empty());
  return model;
}

struct Batch4 {
  Tensor x = random_floats({4, 2}, 1);
  Tensor t = random_floats({4, 1}, 2);
  ondine_values* values = nullptr;

  Batch4() {
    REQUIRE(ondine_values_new(&values) == nullptr);
    const std::int64_t wide[] = {4, 2};
    const std::int64_t narrow[] = {4, 1};
    REQUIRE(ondine_values_set_tensor(values, "x", ONDINE_FLOAT32, 2, wide, x.data()) == nullptr);
    REQUIRE(ondine_values_set_tensor(values, "t", ONDINE_FLOAT32, 2, narrow, t.data()) == nullptr);
  }
  Batch4(const Batch4&) = delete;
  Batch4& operator=(const Batch4&) = delete;
  ~Batch4() { ondine_values_free(values); }
};

}  // namespace

TEST_CASE("errors in C have the codes and texts of C++") {
  const std::vector<std::byte> bytes = encode(linear_regression(0.1F));
  ondine_model* const model = load(bytes);
  Model same = Model::load(bytes);
  const Batch4 feeds;
  const auto compare = [&](ondine_error* given, auto&& call) {
    const Outcome outcome(given);
    try {
      call();
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(outcome.message == error.what());
      CHECK(outcome.code == static_cast<int>(error.code()) + 1);
      CHECK(std::string(ondine_code_name(outcome.code)) == to_string(error.code()));
    }
  };
  ondine_values* results = nullptr;
  ondine_value* value = nullptr;
  compare(ondine_model_train_step(model, feeds.values, 4, nullptr, nullptr),
          [&] { same.train_step({}, 4); });
  compare(ondine_model_infer(model, feeds.values, nullptr, &results), [&] {
    same.infer({{"x", feeds.x}, {"t", feeds.t}});
  });
  compare(ondine_model_get_state(model, "v", &value), [&] { same.get_state("v"); });
  compare(ondine_model_load("none.onnx", nullptr, nullptr),
          [] { throw Error(ErrorCode::mismatch, "model is NULL"); });
  compare(ondine_model_set_threads(model, 0), [&] { same.set_threads(0); });
  const char* const fetches[] = {"nothing", nullptr};
  compare(ondine_model_eval_step(model, feeds.values, 0, fetches, &results), [&] {
    same.eval_step({{"x", feeds.x}, {"t", feeds.t}}, 0, {"nothing"});
  });
  CHECK(results == nullptr);
  ondine_model_free(model);
}

TEST_CASE("steps of one model from two threads are taken one at a time or refused") {
  ondine_model* const model = load(encode(linear_regression(0.01F)));
  const Batch4 feeds;
  std::atomic<std::uint64_t> taken = 0;
  std::atomic<int> unexpected = 0;
  const auto work = [&] {
    for (int i = 0; i < 300; ++i) {
      const Outcome step(ondine_model_train_step(model, feeds.values, 0, nullptr, nullptr));
      if (step.code == ONDINE_OK) {
        ++taken;
      } else if (step.code != ONDINE_MISMATCH ||
                 step.message.find("cannot take a training step while") != 0) {
        ++unexpected;
      }
      ondine_values* results = nullptr;
      if (Outcome(ondine_model_eval_step(model, feeds.values, 0, nullptr, &results)).code != 0) {
        ++unexpected;
      }
      ondine_values_free(results);
    }
  };
  std::thread other(work);
  work();
  other.join();
  std::uint64_t steps = 0;
  REQUIRE(ondine_model_steps(model, &steps) == nullptr);
  CHECK(steps == taken);
  CHECK(unexpected == 0);
  ondine_model_free(model);
}

TEST_CASE("a model that is freed while a thread uses it lives until the call ends") {
  const std::vector<std::byte> bytes = encode(linear_regression(0.01F));
  for (int round = 0; round < 20; ++round) {
    ondine_model* const model = load(bytes);
    const Batch4 feeds;
    std::atomic<bool> begun = false;
    std::thread other([&] {
      for (;;) {
        const Outcome step(ondine_model_train_step(model, feeds.values, 0, nullptr, nullptr));
        begun = true;
        if (step.code == ONDINE_OK) continue;
        CHECK(step.message == "the model was freed, or its handle is none");
        return;
      }
    });
    while (!begun) std::this_thread::yield();
    ondine_model_free(model);
    other.join();
  }
  CHECK(ondine_live_handles() == 0);
}

TEST_CASE("a list of values that one thread changes can be fed by another") {
  ondine_model* const model = load(encode(linear_regression(0.01F)));
  const Batch4 feeds;
  std::atomic<bool> ends = false;
  std::thread other([&] {
    const std::int64_t dims[] = {4, 2};
    while (!ends) {
      Outcome(ondine_values_set_tensor(feeds.values, "x", ONDINE_FLOAT32, 2, dims, feeds.x.data()));
    }
  });
  for (int i = 0; i < 200; ++i) {
    CHECK(Outcome(ondine_model_train_step(model, feeds.values, 0, nullptr, nullptr)).code == 0);
  }
  ends = true;
  other.join();
  ondine_model_free(model);
}

TEST_CASE("handles are never given twice, and numbers that are none are errors") {
  std::vector<ondine_values*> seen;
  for (int i = 0; i < 100; ++i) {
    ondine_values* values = nullptr;
    REQUIRE(ondine_values_new(&values) == nullptr);
    CHECK(std::find(seen.begin(), seen.end(), values) == seen.end());
    seen.push_back(values);
    ondine_values_free(values);
    ondine_values_free(values);
  }
  size_t count = 0;
  for (std::uintptr_t number = 0; number < 4096; ++number) {
    const auto* const values = reinterpret_cast<const ondine_values*>(number);  // NOLINT
    const Outcome outcome(ondine_values_count(values, &count));
    CHECK(outcome.code == ONDINE_MISMATCH);
  }
  CHECK(ondine_live_handles() == 0);
}
