#include "graph/ir/name_table.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

using ondine::graph::NameTable;

TEST_CASE("a name table finds what was added under a name, however many names there are") {
  std::vector<std::string> names;
  for (int i = 0; i < 5000; ++i) names.push_back("value" + std::to_string(i));
  NameTable<int> table;
  CHECK_FALSE(table.contains("value0"));
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto [value, is_new] = table.add(names[i]);
    CHECK(is_new);
    CHECK(*value == 0);
    *value = static_cast<int>(i) + 1;
  }
  CHECK(table.size() == names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const int* value = table.find(std::string("value") + std::to_string(i));
    REQUIRE(value != nullptr);
    CHECK(*value == static_cast<int>(i) + 1);
  }
  CHECK(table.find("value5000") == nullptr);
  CHECK(table.find("") == nullptr);
}

TEST_CASE("adding a name to a name table again gives the value that is there") {
  NameTable<int> table;
  table.reserve(2);
  *table.add("a").first = 7;
  const auto [value, is_new] = table.add("a");
  CHECK_FALSE(is_new);
  CHECK(*value == 7);
  CHECK(table.size() == 1);
}
