// The exact lines of a log folder's files, and what a refused folder leaves.
#include "trainer/records/log_folder.h"

#include <catch2/catch.hpp>
#include <initializer_list>
#include <utility>

#include <ondine/error.h>

#include "tests/support/file_content.h"
#include "tests/support/temporary_folder.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

records::LogFolderOptions options(std::filesystem::path folder) {
  return {.folder = std::move(folder), .resumed_at = {}};
}

Metrics metrics_of(std::initializer_list<std::pair<const char*, double>> values) {
  Metrics result;
  for (const auto& [name, value] : values) result.set(name, value);
  return result;
}

}  // namespace

TEST_CASE("every field of a step and of an epoch is in both tables and in the lines of JSON") {
  const TemporaryFolder temporary;
  const auto folder = temporary.path() / "log";
  StepReport step;
  step.epoch = 2;
  step.rows = 64;
  step.last = metrics_of({{"loss", 0.5}, {"a,b", 2.0}});
  EpochReport epoch;
  epoch.epoch = 3;
  epoch.steps = 40;
  epoch.rows = 320;
  epoch.training = metrics_of({{"loss", 0.25}});
  epoch.validation = metrics_of({{"accuracy", 0.75}});
  epoch.confusion = ConfusionMatrix{3, {5, 1, 0, 2, 6, 3, 0, 4, 7}};
  {
    records::LogFolder log(options(folder));
    log.step({.step = 39, .seconds = 1.5, .learning_rate = 0.125, .report = &step});
    log.step({.step = 40, .seconds = 1.75, .learning_rate = {}, .report = &step});
    log.epoch({.seconds = 2.5, .learning_rate = 0.0625, .report = &epoch, .worst = nullptr});
    log.end("completed", false, 2.5);
  }
  CHECK(content(folder / "steps.csv") ==
        "step,epoch,rows,seconds,learning_rate,loss,\"a,b\"\n"
        "39,2,64,1.5,0.125,0.5,2\n"
        "40,2,64,1.75,,0.5,2\n");
  CHECK(content(folder / "epochs.csv") ==
        "step,epoch,rows,seconds,learning_rate,loss,val_accuracy\n"
        "40,3,320,2.5,0.0625,0.25,0.75\n");
  CHECK(content(folder / "log.jsonl") ==
        R"({"step":39,"epoch":2,"rows":64,"seconds":1.5,"learning_rate":0.125,"loss":0.5,"a,b":2,)"
        R"("type":"step"})"
        "\n"
        R"({"step":40,"epoch":2,"rows":64,"seconds":1.75,"learning_rate":null,"loss":0.5,"a,b":2,)"
        R"("type":"step"})"
        "\n"
        R"({"step":40,"epoch":3,"rows":320,"seconds":2.5,"learning_rate":0.0625,"loss":0.25,)"
        R"("val_accuracy":0.75,"type":"epoch","confusion_matrix":[[5,1,0],[2,6,3],[0,4,7]]})"
        "\n");
}

TEST_CASE("a folder that cannot be made leaves none of those above it") {
  const TemporaryFolder temporary;
  const auto outer = temporary.path() / "outer";
  const std::string too_long(300, 'n');
  CHECK_THROWS_WITH(records::require_log_folder(options(outer / "inner" / too_long)),
                    Contains("cannot make the folder"));
  CHECK_FALSE(std::filesystem::exists(outer));
  // A folder that may be made is tried, and is gone until the run begins.
  records::require_log_folder(options(outer / "inner"));
  CHECK_FALSE(std::filesystem::exists(outer));
}
