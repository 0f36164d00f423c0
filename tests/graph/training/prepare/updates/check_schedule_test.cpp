// Settings of schedules at the bounds of their ranges.
#include "graph/training/prepare/updates/check_schedule.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <ondine/error.h>

using namespace ondine;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double least = std::numeric_limits<double>::denorm_min();
constexpr std::uint64_t max_steps = std::uint64_t{1} << 53;

// "" where the schedule is accepted.
template <class Schedule>
std::string refusal(const Schedule& schedule) {
  try {
    graph::check_schedule(schedule);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::mismatch);
    return error.message();
  }
  return "";
}

// A number of a schedule that `make` returns takes all of `good` and none of `bad`.
template <class Make>
void check(const std::string& why, const std::vector<double>& good, const std::vector<double>& bad,
           Make make) {
  INFO(why);
  for (const double value : good) {
    INFO(value);
    CHECK(refusal(Schedule(make(value))).empty());
  }
  for (const double value : bad) {
    INFO(value);
    CHECK_THAT(refusal(Schedule(make(value))), Catch::StartsWith("the " + why + ", it is "));
  }
}

const std::vector<double> rates{0, least, 1e300};
const std::vector<double> no_rates{-least, infinity, not_a_number};
const std::vector<double> positive{least, 1, 1e300};
const std::vector<double> not_positive{0, -1, not_a_number, infinity};

}  // namespace

TEST_CASE("the warm-up of every schedule is at least 0 and below 1") {
  const std::vector<double> good{0, 0.5, 1 - 0x1p-53};
  const std::vector<double> bad{-least, 1, not_a_number};
  const std::string why = "warm-up must be at least 0 and below 1";
  check(why, good, bad, [](double value) { return ConstantSchedule{.warmup = value}; });
  check(why, good, bad, [](double value) { return StepSchedule{.warmup = value}; });
  check(why, good, bad, [](double value) { return CosineSchedule{.warmup = value}; });
  check(why, good, bad, [](double value) { return PolynomialSchedule{.warmup = value}; });
  check(why, good, bad, [](double value) { return OneCycleSchedule{.warmup = value}; });
  check(why, good, bad, [](double value) { return PlateauSchedule{.warmup = value}; });
}

TEST_CASE("numbers of schedules are refused outside their ranges") {
  check("factor of a schedule must be positive", positive, not_positive,
        [](double value) { return StepSchedule{.factor = value}; });
  check("epochs between steps of the rate must be positive", {1}, {0},
        [](double value) { return StepSchedule{.every = static_cast<std::uint64_t>(value)}; });
  check("final rate must not be negative", rates, no_rates,
        [](double value) { return CosineSchedule{.final_rate = value}; });
  check("final rate must not be negative", rates, no_rates,
        [](double value) { return PolynomialSchedule{.final_rate = value}; });
  check("final rate must not be negative", rates, no_rates,
        [](double value) { return OneCycleSchedule{.final_rate = value}; });
  check("power of a schedule must be positive", positive, not_positive,
        [](double value) { return PolynomialSchedule{.power = value}; });
  check("start of a one-cycle schedule must be a fraction", {0, 0.5, 1},
        {-least, 1 + 0x1p-52, not_a_number},
        [](double value) { return OneCycleSchedule{.start = value}; });
  check("patience of a schedule must be positive", {1}, {0}, [](double value) {
    return PlateauSchedule{.patience = static_cast<std::uint64_t>(value)};
  });
  check("factor of a plateau schedule must be between 0 and 1", {least, 1 - 0x1p-53},
        {0, 1, not_a_number}, [](double value) { return PlateauSchedule{.factor = value}; });
  check("least improvement must not be negative", {0, 1}, {-least, not_a_number},
        [](double value) { return PlateauSchedule{.min_delta = value}; });
  check("least rate must not be negative", rates, no_rates,
        [](double value) { return PlateauSchedule{.min_rate = value}; });
}

TEST_CASE("a model computes schedules whose lengths it knows and can count") {
  struct Row {
    ModelSchedule schedule;
    std::string why;  // "" where it is accepted
  };
  const std::string no_length =
      " needs the number of steps of the whole run, which is epochs times updates of an epoch "
      "(--schedule-steps)";
  for (const Row& row : std::vector<Row>{
           {{ConstantSchedule{}}, ""},
           {{StepSchedule{}, 0, 1}, ""},
           {{StepSchedule{}, 5, 0},
            "a step schedule in a model needs the number of steps of an epoch (--epoch-steps)"},
           {{StepSchedule{.every = 2}, 0, max_steps / 2}, ""},
           {{StepSchedule{.every = 2}, 0, max_steps / 2 + 1},
            "the rate would fall every 4503599627370497 x 2 steps; more than 9007199254740992 "
            "cannot be counted"},
           {{CosineSchedule{}, 1}, ""},
           {{CosineSchedule{}}, "the schedule" + no_length},
           {{PolynomialSchedule{}}, "the schedule" + no_length},
           {{OneCycleSchedule{}}, "the schedule" + no_length},
           {{ConstantSchedule{0.5}}, "a fraction of all steps as warm-up" + no_length},
           {{ConstantSchedule{0.5}, 9}, ""},
           {{ConstantSchedule{0.5}, 0, 0, 3}, ""},
           {{ConstantSchedule{}, 0, 0, 3}, ""},
           {{StepSchedule{0.5}, 0, 1}, "a fraction of all steps as warm-up" + no_length},
           {{StepSchedule{0.5}, 0, 1, 7}, ""},
           {{CosineSchedule{}, max_steps}, ""},
           {{CosineSchedule{}, max_steps + 1}, "a schedule counts at most 9007199254740992 steps"},
           {{ConstantSchedule{}, 0, 0, max_steps}, ""},
           {{ConstantSchedule{}, 0, 0, max_steps + 1},
            "a schedule counts at most 9007199254740992 steps"},
           {{CosineSchedule{}, 10, 0, 9}, ""},
           {{CosineSchedule{}, 10, 0, 10},
            "the warm-up of 10 steps must be shorter than the run of 10"},
           {{PlateauSchedule{}, 10},
            "a plateau schedule waits for a metric of the run, which the steps of a model do not "
            "know; choose it when training (train --schedule plateau)"},
           {{CosineSchedule{.final_rate = -1}, 10},
            "the final rate must not be negative, it is -1"},
       }) {
    CHECK(refusal(row.schedule) == row.why);
  }
}
