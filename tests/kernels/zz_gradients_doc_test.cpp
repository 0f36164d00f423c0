// The last file of this program: by now the other tests have entered what they checked.
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <catch2/catch.hpp>

#include "graph/contract/catalogue.h"
#include "graph/contract/signature.h"
#include "tests/support/op_harness.h"
#include "tests/support/paths.h"

using namespace ondine;         // NOLINT
using namespace ondine::test;   // NOLINT
using namespace ondine::graph;  // NOLINT

namespace {

std::size_t started = 0;

// Straight-through derivatives have nothing numeric to be compared with; quantize_test.cpp has
// them.
const std::set<std::string_view> straight_through{"QuantizeMask", "StraightThrough"};

struct Counter : Catch::TestEventListenerBase {
  using TestEventListenerBase::TestEventListenerBase;
  void testCaseStarting(const Catch::TestCaseInfo&) override { ++started; }
};
CATCH_REGISTER_LISTENER(Counter)

// But for those of this file, of which there are three, and hidden ones.
bool all_tests_ran() {
  const auto& tests = Catch::getRegistryHub().getTestCaseRegistry().getAllTests();
  const auto shown = std::count_if(tests.begin(), tests.end(),
                                   [](const Catch::TestCase& test) { return !test.isHidden(); });
  return started + 2 >= static_cast<std::size_t>(shown);
}

bool masked(const OpDef& op, std::size_t i) {
  return op.no_gradient == any_input || (i < 32 && (op.no_gradient >> i & 1U) != 0);
}

bool has_rule(const OpDef& op) {
  return op.no_gradient != any_input && (op.grad != nullptr || op.expand != nullptr);
}

// Inputs of the newest version that may be double and by which a derivative may exist.
std::vector<std::pair<std::size_t, std::string>> float_inputs(const OpDef& op) {
  std::vector<std::pair<std::size_t, std::string>> result;
  const Signature* signature = find_signature(op.domain, op.name, newest_version(op.domain));
  if (signature == nullptr) return result;
  const auto inputs = signature->inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TypeSet& types = signature->constraints()[inputs[i].constraint].types();
    const Type number = Type::tensor(DType::float64);
    const bool holds = types.contains(number) || types.contains(Type::sequence(number)) ||
                       types.contains(Type::optional(number));
    if (holds && !masked(op, i)) result.emplace_back(i, std::string(inputs[i].name));
  }
  return result;
}

const CheckedGradient* find_check(const OpDef& op) {
  const auto found = checked_gradients().find({std::string(op.domain), std::string(op.name)});
  return found == checked_gradients().end() ? nullptr : &found->second;
}

// The next power of ten, from 1e-9 on: finer than that differs between machines.
int decade(double error) {
  return error <= 1e-9 ? -9 : static_cast<int>(std::ceil(std::log10(error)));
}

struct Row {
  std::string inputs;
  std::string order;
  int decade = 0;
};

std::map<std::string, Row> rows_of_this_run() {
  std::map<std::string, Row> rows;
  for (const OpDef* op : catalogue().all()) {
    const CheckedGradient* check = find_check(*op);
    if (!has_rule(*op) || check == nullptr) continue;
    Row row;
    for (const auto& [i, name] : float_inputs(*op)) {
      if (check->inputs.contains(i)) row.inputs += (row.inputs.empty() ? "" : ", ") + name;
    }
    if (row.inputs.empty()) {
      for (const std::size_t i : check->inputs) {
        row.inputs += (row.inputs.empty() ? "" : ", ") + std::to_string(i);
      }
    }
    row.order = check->order > 1 ? "first, second" : "first";
    row.decade = decade(check->error);
    rows[std::string(spelled_domain(op->domain)) + " | " + std::string(op->name)] = row;
  }
  return rows;
}

constexpr const char* marker = "<!-- below: written by the tests -->\n";

std::map<std::string, Row> rows_of_page(const std::string& page) {
  std::map<std::string, Row> rows;
  std::istringstream lines(page.substr(std::min(page.size(), page.find(marker))));
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> cells;
    std::istringstream parts(line);
    for (std::string cell; std::getline(parts, cell, '|');) {
      if (cell.size() > 2) cells.push_back(cell.substr(1, cell.size() - 2));
    }
    if (cells.size() != 5 || cells[4].rfind("1e", 0) != 0) continue;
    rows[cells[0] + " | " + cells[1]] = {cells[2], cells[3], std::atoi(cells[4].c_str() + 2)};
  }
  return rows;
}

std::string written(const std::map<std::string, Row>& rows) {
  std::ostringstream out;
  out << marker << '\n'
      << "| domain | operator | by inputs | order | tolerance |\n|---|---|---|---|---|\n";
  for (const auto& [name, row] : rows) {
    out << "| " << name << " | " << row.inputs << " | " << row.order << " | 1e" << row.decade
        << " |\n";
  }
  return out.str();
}

}  // namespace

TEST_CASE("every rule has a numeric check for each of its inputs") {
  if (!all_tests_ran()) {
    WARN("not all tests ran: not checked");
    return;
  }
  for (const OpDef* op : catalogue().all()) {
    const auto inputs = float_inputs(*op);
    const bool own = op->domain == ondine_domain;
    if (!has_rule(*op) || (inputs.empty() && !own)) continue;
    if (own && straight_through.contains(op->name)) continue;
    INFO("operator " << op->name);
    const CheckedGradient* check = find_check(*op);
    CHECK(check != nullptr);
    if (check == nullptr) continue;
    for (const auto& [i, name] : inputs) {
      INFO("input " << i << " " << name);
      CHECK(check->inputs.contains(i));
    }
  }
}

TEST_CASE("docs/gradients.md says what the checks cover") {
  if (!all_tests_ran()) {
    WARN("not all tests ran: not checked");
    return;
  }
  const std::string path = test::source_folder() / "docs/gradients.md";
  std::ifstream file(path);
  std::string page((std::istreambuf_iterator<char>(file)), {});
  const auto now = rows_of_this_run();
  if (std::getenv("ONDINE_UPDATE_DOCS") != nullptr) {
    page = page.substr(0, page.find(marker)) + written(now);
    std::ofstream(path) << page;
  }
  INFO("ONDINE_UPDATE_DOCS=1 build/bin/test_kernels writes docs/gradients.md anew");
  const auto said = rows_of_page(page);
  for (const auto& [name, row] : now) {
    INFO(name);
    REQUIRE(said.contains(name));
    CHECK(said.at(name).inputs == row.inputs);
    CHECK(said.at(name).order == row.order);
    // Other instruction sets and compilers round otherwise.
    CHECK(row.decade <= said.at(name).decade + 1);
  }
  CHECK(said.size() == now.size());
}

TEST_CASE("every operator has a case of its own") {
  if (!all_tests_ran()) {
    WARN("not all tests ran: not checked");
    return;
  }
  for (const OpDef* op : catalogue().all()) {
    if (straight_through.contains(op->name)) continue;
    INFO("operator " << op->domain << " " << op->name);
    CHECK(exercised_operators().contains({std::string(op->domain), std::string(op->name)}));
  }
}
