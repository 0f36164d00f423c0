// What lowering multiplies stays within limits.
#include <catch2/catch.hpp>

#include "tests/trainer/lower/lowered_steps.h"

using namespace ondine;
using namespace ondine::test;

TEST_CASE("steps of recurrences that are written out count against the limit of nodes") {
  const auto step_of = [](std::int64_t length) {
    ModelBuilder builder("network", 17);
    builder.input("x", DType::float32, {length, 1, 2});
    const std::string y = builder.node("RNN",
                                       {"x", builder.initializer("w", random_floats({1, 3, 2}, 5)),
                                        builder.initializer("r", random_floats({1, 3, 3}, 6))},
                                       {{"hidden_size", 3}});
    builder.node("Identity", {y}, {}, "y");
    builder.output("y", DType::float32, {length, 1, 1, 3});
    DifferentiateOptions options;
    options.of = "y";
    options.by = {"w"};
    return differentiate(Model::load(builder.bytes()), options);
  };
  CHECK_NOTHROW(step_of(20));
  // Refused before anything is allocated for the steps.
  for (const std::int64_t length : {std::int64_t{1} << 40, std::int64_t{2'000'000}}) {
    CAPTURE(length);
    try {
      step_of(length);
      FAIL_CHECK("was lowered");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::limit);
      CHECK_THAT(error.what(),
                 Catch::Contains("more than the limit of 1000000 nodes") && Catch::Contains("RNN"));
    }
  }
}
