// Tables that are read as they are written, with a note on what they look like.
#include <catch2/catch.hpp>
#include <fstream>
#include <functional>

#include <ondine/data.h>
#include <ondine/table.h>

#include "core/message.h"
#include "tests/support/temporary_folder.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

// A column of features and one of targets, or those that `header` names.
std::string table_of(const std::function<std::string(int)>& row,
                     const std::string& header = "x,y") {
  std::string text = header + '\n';
  for (int i = 0; i < 40; ++i) text += row(i) + '\n';
  return text;
}

std::string notes_on(const std::string& text, DatasetOptions options = {}) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "t.csv", std::ios::binary) << text;
  std::string joined;
  for (const std::string& note : Dataset::open(folder.path() / "t.csv", options).notes()) {
    joined += note + '\n';
  }
  return joined;
}

int mixed(int i) { return i * 17 % 40; }
std::string class_of(int i) { return i % 3 == 0 ? "yes" : "no"; }

}  // namespace

TEST_CASE("an ordinary table has no notes") {
  CHECK(notes_on(table_of([](int i) { return cat(mixed(i), ",", class_of(i)); })).empty());
  CHECK(notes_on(table_of([](int i) { return cat(mixed(i), ",", 0.5 * i); })).empty());
  CHECK(notes_on(table_of([](int i) { return cat(mixed(i), ",", i); })).empty());
  CHECK(notes_on(table_of([](int) { return std::string("16777217,1"); })).empty());
}

TEST_CASE("classes that differ in case or blanks alone are noted") {
  const auto notes_of = [](const std::string& other) {
    return notes_on(
        table_of([&](int i) { return cat(mixed(i), ",", i % 5 == 0 ? other : class_of(i)); }));
  };
  for (const std::string other : {"Yes", "yes ", " yes", "YES\t"}) {
    CHECK_THAT(notes_of(other), Contains("differ in case or blanks alone") && Contains("'yes'") &&
                                    Contains("column 'y'"));
  }
  CHECK(notes_of("yes!").empty());
}

TEST_CASE("categories that differ in case or blanks alone are noted") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "t.csv", std::ios::binary) << table_of(
      [](int i) { return cat(mixed(i), i % 2 == 0 ? ",Ulm," : ",ulm,", class_of(i)); }, "x,city,y");
  const TableOptions options{.one_hot = {"city"}};
  DatasetOptions how;
  how.raw = raw_table(options);
  const TablePlan plan = plan_table(Dataset::open(folder.path() / "t.csv", how), options);
  REQUIRE(plan.notes.size() == 1);
  CHECK_THAT(plan.notes[0], Contains("'Ulm' and 'ulm' of column 'city'"));
}

TEST_CASE("a column that numbers the rows is noted, unless it is left out") {
  const std::string text =
      table_of([](int i) { return cat(i + 100, ",", mixed(i), ",", class_of(i)); }, "id,x,y");
  CHECK_THAT(notes_on(text), Contains("column 'id' numbers the rows"));
  DatasetOptions without;
  without.drop = {"id"};
  CHECK(notes_on(text, without).empty());
  DatasetOptions evaluated;
  evaluated.use = DataUse::evaluation;
  CHECK(notes_on(text, evaluated).empty());
}

TEST_CASE("numbers that float32 rounds together are noted") {
  const auto notes_of = [](const std::function<std::string(int)>& number) {
    return notes_on(table_of([&](int i) { return number(mixed(i)) + "," + class_of(i); }));
  };
  const std::string note = "column 'x' has numbers whose differences float32 rounds away";
  CHECK_THAT(notes_of([](int i) { return cat(1700000000 + i); }), Contains(note));
  CHECK_THAT(notes_of([](int i) { return cat(9007199254740992 + i); }), Contains(note));
  CHECK_THAT(notes_of([](int i) { return cat("1e6", i % 2); }), !Contains(note));
  CHECK_THAT(notes_of([](int i) { return cat(1700000000 + 86400 * 365 * i); }), !Contains(note));
  CHECK_THAT(notes_of([](int i) { return cat(i, "e30"); }), !Contains(note));
  CHECK_THAT(notes_on(table_of([](int i) { return cat(mixed(i), ",1700000000.", i); })),
             Contains("column 'y' has numbers whose differences"));
}

TEST_CASE("columns that are standardized in double precision are not rounded") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "t.csv", std::ios::binary)
      << table_of([](int i) { return cat(1700000000 + mixed(i), ",", class_of(i)); });
  const auto notes_with = [&](const TableOptions& options) {
    DatasetOptions how;
    how.raw = raw_table(options);
    const Dataset data = Dataset::open(folder.path() / "t.csv", how);
    CHECK(data.notes().empty());
    return plan_table(data, options).notes.size();
  };
  CHECK(notes_with({.standardize = {"x"}}) == 0);
  CHECK(notes_with({}) == 1);
}

TEST_CASE("a first line that looks like a row is noted") {
  const auto row = [](int i) { return cat(mixed(i), ",", class_of(i)); };
  const std::string note = "the first line of ";
  CHECK_THAT(notes_on(table_of(row, "0.5,y")), Contains(note) && Contains("'0.5'"));
  CHECK_THAT(notes_on(table_of(row, "-3,y")), Contains(note));
  CHECK_THAT(notes_on(table_of(row, "7,no")), Contains(note) && Contains("'no'"));
  CHECK(notes_on(table_of(row, "7,label")).empty());
}
