// Metadata of a prepared model about its updates.
#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "graph/training/prepare/updates/updates.h"

using namespace ondine;  // NOLINT
using graph::update_properties;
using graph::Updates;

namespace {

using Names = std::vector<std::string>;
using Lines = graph::Properties;

Updates averaged(Names averages) {
  Updates updates;
  updates.optimizer.averages = std::move(averages);
  updates.optimizer.scheduled = "rate.now";
  return updates;
}

}  // namespace

TEST_CASE("the metadata of plain updates is empty") {
  CHECK(update_properties(averaged({"a"}), {"w"}, {}).empty());
  CHECK(update_properties({}, {"w"}, {.schedule = ModelSchedule{ConstantSchedule{}}}).empty());
}

TEST_CASE("the metadata holds the number of steps that accumulate") {
  CHECK(update_properties({}, {"w"}, {.accumulate = 12}) == Lines{{"ondine.accumulate", "12"}});
}

TEST_CASE("parameters and their averages are listed one a line, in the same order") {
  const PrepareOptions options{.average = WeightAverage{}};
  CHECK(update_properties(averaged({"w.average", "b.average"}), {"w", "b"}, options) ==
        Lines{{"ondine.averaged", "w\nb"}, {"ondine.averages", "w.average\nb.average"}});
  CHECK(update_properties(averaged({"a"}), {"w"}, options) ==
        Lines{{"ondine.averaged", "w"}, {"ondine.averages", "a"}});
  CHECK(update_properties(averaged({}), {}, options) ==
        Lines{{"ondine.averaged", ""}, {"ondine.averages", ""}});
}

TEST_CASE("a name with a line break cannot be listed") {
  const PrepareOptions options{.average = WeightAverage{}};
  for (const std::string& name : {std::string("\nw"), std::string("w\nb"), std::string("w\n")}) {
    CHECK_THROWS_WITH(update_properties(averaged({"a", "b"}), {"v", name}, options),
                      Catch::StartsWith("averages of a parameter whose name has a line break: '"));
    CHECK_THROWS_AS(update_properties(averaged({"a", name}), {"v", "w"}, options), Error);
    CHECK(update_properties(averaged({"a", name}), {"v", name}, {}).empty());
  }
}

TEST_CASE("a schedule is described, and its output is named") {
  const Lines cosine =
      update_properties(averaged({}), {}, {.schedule = ModelSchedule{CosineSchedule{}, 100}});
  REQUIRE(cosine.size() == 2);
  CHECK(cosine[0].first == "ondine.schedule");
  CHECK(cosine[0].second.find("cosine") != std::string::npos);
  CHECK(cosine[1] == std::pair<std::string, std::string>{"ondine.scheduled_rate", "rate.now"});
  ModelSchedule warm{ConstantSchedule{}};
  warm.warmup_steps = 0;
  CHECK(update_properties(averaged({}), {}, {.schedule = warm}).empty());
  warm.warmup_steps = 1;
  CHECK(update_properties(averaged({}), {}, {.schedule = warm}).size() == 2);
}
