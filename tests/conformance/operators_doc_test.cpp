#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/message.h"
#include "graph/contract/added_versions.h"
#include "graph/contract/catalogue.h"
#include "graph/contract/op_def.h"
#include "graph/contract/signature.h"
#include "tests/support/cases.h"
#include "tests/support/paths.h"
#include "trainer/model/assemble.h"

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

struct Group {
  const char* name;
  std::vector<DType> members;
};

// "float, int, bool": whole groups by their name, others one by one.
std::string types_of(const Signature& signature) {
  static const std::vector<Group> groups{
      {"float", {DType::float16, DType::float32, DType::float64}},
      {"bfloat16", {DType::bfloat16}},
      {"float8",
       {DType::float8e4m3fn, DType::float8e4m3fnuz, DType::float8e5m2, DType::float8e5m2fnuz}},
      {"int", {DType::int8, DType::int16, DType::int32, DType::int64}},
      {"uint", {DType::uint8, DType::uint16, DType::uint32, DType::uint64}},
      {"int4", {DType::int4, DType::uint4}},
      {"int2", {DType::int2, DType::uint2}},
      {"complex", {DType::complex64, DType::complex128}}};
  const auto parameters = signature.inputs().empty() ? signature.outputs() : signature.inputs();
  if (parameters.empty() || signature.constraints().empty()) return "any";
  const TypeSet& types = signature.constraints()[parameters[0].constraint].types();
  std::uint32_t mask = types.tensors | types.sequences | types.optionals;
  std::string text;
  const auto add = [&](std::string_view word) {
    if (!text.empty()) text += ", ";
    text += word;
  };
  for (const Group& group : groups) {
    std::uint32_t members = 0;
    for (const DType one : group.members) members |= 1U << static_cast<unsigned>(one);
    if ((mask & members) != members) continue;
    mask &= ~members;
    add(group.name);
  }
  for (unsigned bit = 0; bit < 32; ++bit) {
    if ((mask >> bit & 1U) != 0) add(to_string(static_cast<DType>(bit)));
  }
  if (types.sequences != 0) add(types.tensors == 0 ? "only in sequences" : "sequences");
  if ((types.optionals | types.optional_sequences) != 0) add("optionals");
  if ((types.int64_maps | types.string_maps) != 0) add("maps");
  return text;
}

// docs/operators.md as it should be.
std::string operators_page() {
  std::map<std::pair<std::string_view, std::string_view>, std::set<int>> versions;
  for (const Signature& signature : all_signatures()) {
    versions[{signature.domain(), signature.name}].insert(signature.since_version);
  }
  std::map<std::pair<std::string_view, std::string_view>, const Signature*> newest;
  for (const Signature& signature : all_signatures()) {
    const Signature*& kept = newest[{signature.domain(), signature.name}];
    const bool better = kept == nullptr ||
                        (!signature.deprecated() && signature.since_version > kept->since_version);
    if (better) kept = &signature;
  }
  std::ostringstream rows;
  std::size_t available = 0;
  for (const auto& [key, since] : versions) {
    const OpDef* op = trainer::all_operators().find(key.first, key.second);
    available += op != nullptr ? 1 : 0;
    rows << "| " << spelled_domain(key.first) << " | " << key.second << " |";
    for (const int version : since) rows << ' ' << version;
    rows << " | " << types_of(*newest.at(key)) << " | "
         << (op != nullptr ? kernel_kind(*op) : "missing") << " | "
         << (op != nullptr ? gradient_kind(*op) : "") << " |\n";
  }
  std::ostringstream contrib;
  for (const OpDef* op : trainer::all_operators().all()) {
    if (op->domain == ondine_domain || versions.contains({op->domain, op->name})) continue;
    contrib << "| " << spelled_domain(op->domain) << " | " << op->name << " | " << kernel_kind(*op)
            << " | " << gradient_kind(*op) << " |\n";
  }
  std::string added;
  for (const auto& [key, since] : versions) {
    if (graph::is_added(key.first, key.second, *since.begin() - 1)) {
      added += cat("\n- ", key.second, " below version ", *since.begin());
    }
  }
  std::ostringstream page;
  page
      << "# Operators\n\nWritten by the tests with `ONDINE_UPDATE_DOCS=1`; they fail when it is "
         "out of date.\n\n"
      << available << " of " << versions.size()
      << " operators of the standard are available.\n\n"
         "- **types**: what the newest version allows for its first input (or output)\n"
         "- **kernel**: native, composed of other operators, or rewritten at load\n"
         "- **gradient**: `yes` by a rule, `by expansion` through the operators it is composed "
         "of,\n"
         "  `zero` where the standard's semantics give none, `none` where there is nothing to\n"
         "  differentiate\n\n"
         "| domain | operator | versions | types | kernel | gradient |\n|---|---|---|---|---|---|\n"
      << rows.str()
      << "\n## Operators of onnxruntime\n\nonnxruntime's optimizers and quantizers write them; "
         "inputs, outputs or attributes that are\nnot supported are refused by name.\n\n"
         "| domain | operator | kernel | gradient |\n|---|---|---|---|\n"
      << contrib.str()
      << "\nIn operator sets of ai.onnx that do not define them, these run as well:\n"
      << added << '\n';
  return page.str();
}

}  // namespace

TEST_CASE("docs/operators.md says what this build has") {
  const std::string path = test::source_folder() / "docs/operators.md";
  const std::string wanted = operators_page();
  if (std::getenv("ONDINE_UPDATE_DOCS") != nullptr) std::ofstream(path) << wanted;
  std::ifstream file(path);
  const std::string found((std::istreambuf_iterator<char>(file)), {});
  CHECK(found == wanted);
}

TEST_CASE("every operator of the standard is there") {
  for (const Signature& signature : all_signatures()) {
    INFO(spelled_domain(signature.domain()) << " " << signature.name);
    CHECK(trainer::all_operators().find(signature.domain(), signature.name) != nullptr);
  }
}

TEST_CASE("the signatures are all of the shared traits") {
  std::ifstream file(test::cases_folder().parent_path() / "onnx" / "operators.json");
  if (!file) {
    WARN("shared traits about operators are absent: skipped");
    return;
  }
  std::size_t checked = 0;
  for (const auto& row : nlohmann::json::parse(file)) {
    const auto domain = row.at("domain").get<std::string>();
    const auto name = row.at("name").get<std::string>();
    const auto version = row.at("since_version").get<std::int64_t>();
    INFO(domain << " " << name << " " << version);
    const Signature* found = find_signature(domain, name, version);
    REQUIRE(found != nullptr);
    CHECK(found->since_version == version);
    ++checked;
  }
  CHECK(checked > 600);
}

TEST_CASE("every operator has an inference rule and a way to run or be rewritten") {
  for (const OpDef* op : trainer::all_operators().all()) {
    INFO(op->name);
    CHECK(op->infer != nullptr);
    CHECK((op->bind != nullptr || op->expand != nullptr || op->name == "Gradient"));
  }
}
