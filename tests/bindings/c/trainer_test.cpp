// A trainer in C that is used, stopped and freed in the midst of its run.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <ondine/c.h>

#include "tests/support/models.h"
#include "tests/support/random_tensor.h"

using namespace ondine;        // NOLINT
using namespace ondine::test;  // NOLINT

namespace {

std::string message_of(ondine_error* error) {
  const std::string text = ondine_error_message(error);
  ondine_error_free(error);
  return text;
}

struct Run {
  ondine_model* model = nullptr;
  ondine_dataset* data = nullptr;
  ondine_trainer* trainer = nullptr;

  explicit Run(const ondine_option* options) {
    const std::vector<std::byte> bytes = encode(linear_regression(0.01F));
    REQUIRE(message_of(ondine_model_load_bytes(bytes.data(), bytes.size(), nullptr, nullptr,
                                               nullptr, &model))
                .empty());
    const Tensor x = random_floats({8, 2}, 1);
    const Tensor t = random_floats({8, 1}, 2);
    const std::int64_t wide[] = {8, 2};
    const std::int64_t narrow[] = {8, 1};
    ondine_values* rows = nullptr;
    ondine_value* value = nullptr;
    REQUIRE(message_of(ondine_values_new(&rows)).empty());
    for (const auto& [name, tensor, dims] :
         {std::tuple("x", &x, wide), std::tuple("t", &t, narrow)}) {
      REQUIRE(
          message_of(ondine_tensor_new(ONDINE_FLOAT32, 2, dims, tensor->data(), &value)).empty());
      REQUIRE(message_of(ondine_values_set(rows, name, value)).empty());
      ondine_value_free(value);
    }
    REQUIRE(message_of(ondine_dataset_from_values(rows, nullptr, nullptr, &data)).empty());
    ondine_values_free(rows);
    REQUIRE(message_of(ondine_trainer_new(model, options, &trainer)).empty());
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() {
    ondine_trainer_free(trainer);
    ondine_dataset_free(data);
    ondine_model_free(model);
    CHECK(ondine_live_handles() == 0);
  }
};

constexpr ondine_option long_run[] = {
    {"epochs", "1000000"}, {"batch-size", "2"}, {nullptr, nullptr}};

}  // namespace

TEST_CASE("callbacks may stop a run and free its trainer, but not start another") {
  Run run(long_run);
  const auto callback = [](void* user, const char*) {
    Run& same = *static_cast<Run*>(user);
    CHECK(message_of(ondine_trainer_fit(same.trainer, same.data, nullptr, nullptr)) ==
          "another call uses the trainer");
    float rate = 0;
    CHECK_FALSE(message_of(ondine_model_get_learning_rate(same.model, 0, &rate)).empty());
    CHECK(message_of(ondine_trainer_request_stop(same.trainer)).empty());
    ondine_trainer_free(same.trainer);
    ondine_dataset_free(same.data);
    ondine_model_free(same.model);
    return 0;
  };
  REQUIRE(message_of(ondine_trainer_on_step(run.trainer, callback, &run)).empty());
  char* report = nullptr;
  CHECK(message_of(ondine_trainer_fit(run.trainer, run.data, nullptr, &report)).empty());
  CHECK_THAT(report, Catch::Contains("\"reason\":\"requested\""));
  ondine_free(report);
}

TEST_CASE("another thread stops a run; a second run beside it is refused") {
  Run run(long_run);
  std::thread other([&] {
    std::string refused;
    while (refused.empty()) {
      ondine_values* none = nullptr;
      refused = message_of(ondine_trainer_resume(run.trainer, nullptr));
      ondine_values_free(none);
      if (refused != "another call uses the trainer") refused.clear();
    }
    CHECK(message_of(ondine_trainer_request_stop(run.trainer)).empty());
  });
  CHECK(message_of(ondine_trainer_fit(run.trainer, run.data, nullptr, nullptr)).empty());
  other.join();
}

TEST_CASE("an exception of a callback written in C++ is an error, and the trainer goes on") {
  constexpr ondine_option short_run[] = {{"epochs", "1"}, {nullptr, nullptr}};
  Run run(short_run);
  const auto fails = [](void* user, const char*) -> int {
    if (!*static_cast<bool*>(user)) return 0;
    throw std::runtime_error("thrown by a callback");
  };
  bool throws = true;
  REQUIRE(message_of(ondine_trainer_on_epoch(run.trainer, fails, &throws)).empty());
  CHECK(message_of(ondine_trainer_fit(run.trainer, run.data, nullptr, nullptr)) ==
        "thrown by a callback");
  throws = false;
  CHECK(message_of(ondine_trainer_fit(run.trainer, run.data, nullptr, nullptr)).empty());
}

TEST_CASE("a checkpoint that exists and a metric that is not finite have codes of their own") {
  constexpr ondine_option once[] = {
      {"epochs", "1"}, {"checkpoint", "c_api_run.ckpt"}, {nullptr, nullptr}};
  std::remove("c_api_run.ckpt");
  {
    Run run(once);
    CHECK(message_of(ondine_trainer_fit(run.trainer, run.data, nullptr, nullptr)).empty());
  }
  {
    Run run(once);
    ondine_error* const error = ondine_trainer_fit(run.trainer, run.data, nullptr, nullptr);
    CHECK(ondine_error_code(error) == ONDINE_EXISTS);
    ondine_error_free(error);
  }
  std::remove("c_api_run.ckpt");
  Run run(nullptr);
  ondine_value* value = nullptr;
  ondine_values* state = nullptr;
  const std::int64_t dims[] = {2, 1};
  const float broken[] = {NAN, 1};
  REQUIRE(message_of(ondine_tensor_new(ONDINE_FLOAT32, 2, dims, broken, &value)).empty());
  REQUIRE(message_of(ondine_values_new(&state)).empty());
  REQUIRE(message_of(ondine_values_set(state, "w", value)).empty());
  REQUIRE(message_of(ondine_model_set_state(run.model, state)).empty());
  ondine_value_free(value);
  ondine_values_free(state);
  ondine_error* const error = ondine_trainer_fit(run.trainer, run.data, nullptr, nullptr);
  CHECK(ondine_error_code(error) == ONDINE_NOT_FINITE);
  ondine_error_free(error);
}
