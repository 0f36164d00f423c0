#include "graph/ir/boxed.h"

#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using ondine::graph::Boxed;

TEST_CASE("a box that nobody set reads as the default value and is as large as a pointer") {
  const Boxed<std::optional<int>> box;
  CHECK_FALSE(box->has_value());
  CHECK(sizeof(Boxed<std::vector<double>>) == sizeof(void*));
}

TEST_CASE("copies of a box have values of their own") {
  Boxed<std::string> first = std::string("one");
  Boxed<std::string> second = first;
  second.edit() += " and two";
  CHECK(*first == "one");
  CHECK(*second == "one and two");
  first = second;
  second = {};
  CHECK(*first == "one and two");
  CHECK(second->empty());
}

TEST_CASE("a box that was moved from reads as the default value and can be set again") {
  Boxed<std::vector<int>> from = std::vector{1, 2};
  const Boxed<std::vector<int>> to = std::move(from);
  CHECK(*to == std::vector{1, 2});
  CHECK(from->empty());  // NOLINT: what a moved box promises
  from.edit().push_back(3);
  CHECK(*from == std::vector{3});
}

TEST_CASE("a box converts to a reference to its value, which an edit of it keeps") {
  Boxed<int> box = 7;
  const int& value = box;
  box.edit() = 8;
  CHECK(value == 8);
}

TEST_CASE("a box is set by all values but empty ones") {
  const Boxed<int> unset;
  CHECK_FALSE(unset);
  CHECK(unset.get() == nullptr);
  const Boxed<int> zero = 0;
  REQUIRE(zero);
  CHECK(zero.get() == &*zero);
  CHECK_FALSE(Boxed<std::string>(std::string()));
  CHECK_FALSE(Boxed<std::optional<int>>(std::nullopt));
  CHECK(Boxed<std::optional<int>>(std::optional(0)));
}
