#include "trainer/data/table/table_columns.h"

#include <catch2/catch.hpp>

#include <ondine/error.h>

using namespace ondine;
using Catch::Contains;

namespace {

using Names = std::vector<std::string>;

std::optional<std::size_t> target_of(const Names& names, DatasetOptions options = {},
                                     std::size_t other = 99) {
  return data::choose_target(names, options, other);
}

}  // namespace

TEST_CASE("the last column is the target where none is named, whatever the others are called") {
  CHECK(target_of({"a", "b"}) == 1U);
  CHECK(target_of({"a", "label"}) == 1U);
  CHECK(target_of({"label", "target"}) == 1U);
  CHECK(target_of({"label", "path"}, {}, 1) == 0U);
  CHECK(target_of({"path", "b"}, {}, 0) == 1U);
}

TEST_CASE("a column that is called target or label but is not the last one asks for a choice") {
  for (const char* name : {"label", "labels", "target", "Targets", "LABEL"}) {
    CHECK_THROWS_WITH(target_of({"path", name, "camera"}, {}, 0),
                      Contains(name) && Contains("the last one, 'camera'; --target says which"));
  }
  DatasetOptions options;
  options.target = "camera";
  CHECK(target_of({"path", "label", "camera"}, options, 0) == 2U);
  options = {};
  options.features = {"label"};
  CHECK(target_of({"label", "unused", "price"}, options) == 2U);
  options = {};
  options.drop = {"label"};
  CHECK(target_of({"label", "rooms", "price"}, options) == 2U);
}

TEST_CASE("data for inference have no target") {
  DatasetOptions options;
  options.use = DataUse::inference;
  CHECK_FALSE(target_of({"path", "label", "camera"}, options, 0).has_value());
}
