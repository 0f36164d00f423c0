// The shared collections, as far as loading goes without running an operator's rules.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <set>

#include "graph/check/structure.h"
#include "proto/import.h"
#include "tests/graph/check/standard_catalogue.h"
#include "tests/support/cases.h"
#include "tests/support/paths.h"

namespace ondine {
namespace {

using std::filesystem::path;

std::string error_of(const path& model) {
  Limits limits;
  limits.weight_bytes = std::uint64_t{1} << 30;
  try {
    graph::Findings findings;
    graph::check_structure(load_model(model, limits), test::standard_catalogue(), limits, findings);
    findings.throw_if_any();
    return {};
  } catch (const Error& error) {
    CHECK(error.code() != ErrorCode::internal);
    return error.what();
  }
}

struct Expectation {
  std::string verdict;
  std::string mention;
};

Expectation read_expectation(const path& folder) {
  std::ifstream file(folder / "expect");
  Expectation out;
  std::getline(file, out.verdict);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("mention: ")) out.mention = line.substr(9);
  }
  return out;
}

// Some files cannot be stored: a script makes them, in a copy of the case.
path prepared(const path& folder) {
  namespace fs = std::filesystem;
  if (!fs::exists(folder / "setup.sh")) return folder;
  const path copies = test::build_folder() / "hostile_cases";
  const auto copy = [&](const path& from) {
    const path to = copies / from.filename();
    fs::remove_all(to);
    fs::copy(from, to, fs::copy_options::recursive);
    fs::permissions(to, fs::perms::owner_all, fs::perm_options::add);
    for (const auto& entry : fs::recursive_directory_iterator(to)) {
      fs::permissions(entry.path(), fs::perms::owner_write, fs::perm_options::add);
    }
    return to;
  };
  fs::create_directories(copies);
  copy(folder.parent_path() / "outside");
  const path to = copy(folder);
  REQUIRE(std::system(("cd '" + to.string() + "' && sh setup.sh").c_str()) == 0);
  return to;
}

TEST_CASE("every valid model of the shared collections passes the structure check") {
  std::size_t count = 0;
  for (const std::string collection : {"backend/node", "backend/simple", "backend/pytorch-operator",
                                       "backend/pytorch-converted", "training"}) {
    for (const auto& folder : test::case_folders(collection)) {
      INFO(folder.string());
      CHECK(error_of(folder / "model.onnx") == "");
      ++count;
    }
  }
  if (count == 0) WARN("skipped: no cases in " << test::cases_folder().string());
}

// Found by the operators' own rules once types are inferred, not by the structure.
const std::set<std::string> left_to_inference{
    "graph-if-branch-types", "graph-sequence-type", "op-concat-axis",     "op-conv-group-zero",
    "op-conv-pads-overflow", "op-conv-weight-rank", "op-einsum-equation", "op-matmul-shapes",
    "op-pool-stride-zero",   "op-transpose-perm"};

TEST_CASE("invalid models are refused naming the defect, valid ones are accepted") {
  const auto folders = test::case_folders("hostile");
  if (folders.empty()) WARN("skipped: no cases in " << test::cases_folder().string());
  for (const auto& folder : folders) {
    const auto name = folder.filename().string();
    INFO(name);
    const auto expected = read_expectation(folder);
    const auto error = error_of(prepared(folder) / "model.onnx");
    if (expected.verdict == "reject" && !left_to_inference.contains(name)) {
      CHECK(error != "");
      CHECK_THAT(error, Catch::Contains(expected.mention));
    } else {
      CHECK(error == "");
    }
  }
}

}  // namespace
}  // namespace ondine
