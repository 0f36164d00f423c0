// Nodes that lowering multiplies stay within limits.
#include <catch2/catch.hpp>

#include "tests/trainer/lower/lowered_steps.h"

using namespace ondine;
using namespace ondine::test;

TEST_CASE("a loaded model is lowered and differentiated under its own limits") {
  // y = RNN(x) over `length` steps, which are written out one after the other.
  constexpr std::int64_t length = 30;
  ModelBuilder builder("network", 17);
  builder.input("x", DType::float32, {length, 1, 2});
  const std::string all = builder.node("RNN",
                                       {"x", builder.initializer("w", random_floats({1, 3, 2}, 5)),
                                        builder.initializer("r", random_floats({1, 3, 3}, 6))},
                                       {{"hidden_size", 3}});
  builder.node("Identity", {all}, {}, "y");
  builder.output("y", DType::float32, {length, 1, 1, 3});
  PrepareOptions options;
  options.loss = Loss::mse;
  const Model prepared = prepare(Model::load(builder.bytes()), options);
  const std::vector<std::byte> bytes = prepared.export_training();
  LoadOptions narrow;
  narrow.limits.nodes = 100;
  const auto refuses = [](const auto& make) {
    CHECK_THROWS_MATCHES(
        make(), Error, Catch::Predicate<Error>([](const Error& error) {
          return error.code() == ErrorCode::limit &&
                 std::string(error.what()).find("more than the limit of 100 nodes") !=
                     std::string::npos;
        }));
  };
  const Model model = Model::load(bytes, narrow);
  DifferentiateOptions gradient;
  gradient.of = "y";
  gradient.by = {"w"};
  refuses([&] { return lower(model); });
  refuses([&] { return differentiate(model, gradient); });
  // More than the default is possible as well as less.
  const Model wide = Model::load(bytes);
  LowerReport report;
  lower(wide, {}, &report);
  CHECK(report.nodes > 100);
  CHECK_NOTHROW(differentiate(wide, gradient));
}

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
