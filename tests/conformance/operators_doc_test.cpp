#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <catch2/catch.hpp>

#include "graph/contract/op_def.h"
#include "graph/contract/signature.h"
#include "trainer/assemble.h"

using namespace ondine;         // NOLINT
using namespace ondine::graph;  // NOLINT

namespace {

std::string kernel_kind(const OpDef& op) {
  if (op.bind != nullptr) return "native";
  return op.expand != nullptr ? "composed" : "rewritten";
}

std::string gradient_kind(const OpDef& op) {
  if (op.grad != nullptr) return "yes";
  if (op.no_gradient == any_input) return "zero";
  return op.expand != nullptr ? "by expansion" : "none";
}

// docs/operators.md as it should be.
std::string operators_page() {
  std::map<std::pair<std::string_view, std::string_view>, std::set<int>> versions;
  for (const Signature& signature : all_signatures()) {
    versions[{signature.domain(), signature.name}].insert(signature.since_version);
  }
  std::ostringstream rows;
  std::size_t available = 0;
  for (const auto& [key, since] : versions) {
    const OpDef* op = trainer::all_operators().find(key.first, key.second);
    available += op != nullptr ? 1 : 0;
    rows << "| " << spelled_domain(key.first) << " | " << key.second << " |";
    for (const int version : since) rows << ' ' << version;
    rows << " | " << (op != nullptr ? kernel_kind(*op) : "missing") << " | "
         << (op != nullptr ? gradient_kind(*op) : "") << " |\n";
  }
  std::ostringstream page;
  page
      << "# Operators\n\nWritten by the tests with `ONDINE_UPDATE_DOCS=1`; they fail when it is "
         "out "
         "of date.\n\n"
      << available << " of " << versions.size()
      << " operators of the standard are available. Kernel: native, composed of other operators, "
         "or rewritten when the model is loaded. Gradient: `yes` by a rule, `by expansion` through "
         "the operators it is composed of, `zero` where the standard's semantics give none, `none` "
         "where it has none or nothing to differentiate.\n\n"
         "| domain | operator | versions | kernel | gradient |\n|---|---|---|---|---|\n"
      << rows.str();
  return page.str();
}

}  // namespace

TEST_CASE("docs/operators.md says what this build has") {
  const std::string path = std::string(ONDINE_SOURCE_DIR) + "/docs/operators.md";
  const std::string wanted = operators_page();
  if (std::getenv("ONDINE_UPDATE_DOCS") != nullptr) std::ofstream(path) << wanted;
  std::ifstream file(path);
  const std::string found((std::istreambuf_iterator<char>(file)), {});
  CHECK(found == wanted);
}

TEST_CASE("every operator has an inference rule and a way to run or be rewritten") {
  for (const OpDef* op : trainer::all_operators().all()) {
    INFO(op->name);
    CHECK(op->infer != nullptr);
    CHECK((op->bind != nullptr || op->expand != nullptr || op->name == "Gradient"));
  }
}
