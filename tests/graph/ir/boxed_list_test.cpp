#include "graph/ir/boxed_list.h"

#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

using ondine::graph::BoxedList;

TEST_CASE("a list without items is as large as a pointer and can be walked") {
  BoxedList<double> list;
  CHECK(sizeof(list) == sizeof(void*));
  CHECK(list.empty());
  CHECK(list.size() == 0);
  CHECK(std::span<double>(list).empty());
  CHECK(std::span<const double>(std::as_const(list)).empty());
  CHECK_THROWS_AS(list.at(0), std::out_of_range);
}

TEST_CASE("a list is changed by its items and through a span of them") {
  BoxedList<int> list = {1, 2};
  list.push_back(3);
  list[0] = 7;
  for (int& item : std::span<int>(list).subspan(1)) item *= 10;
  CHECK(list == BoxedList<int>(std::vector{7, 20, 30}));
  CHECK(list.size() == 3);
  CHECK(list.capacity() >= 3);
  CHECK(list.back() == 30);
  CHECK(list.at(1) == 20);
  CHECK_THROWS_AS(list.at(3), std::out_of_range);
}

TEST_CASE("copies of a list have items of their own, and one that was moved from is empty") {
  BoxedList<int> first = {1};
  BoxedList<int> second = first;
  second.push_back(2);
  CHECK_FALSE(first == second);
  CHECK(first == BoxedList<int>{1});
  const BoxedList<int> third = std::move(second);
  CHECK(third == BoxedList<int>{1, 2});
  CHECK(second.empty());  // NOLINT: what a moved list promises
}
