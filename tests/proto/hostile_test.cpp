// The cases that are refused before a graph is looked at: no models, broken tensors, external data.
#include <catch2/catch.hpp>

#include <cstdlib>
#include <fstream>
#include <string>

#include <ondine/error.h>

#include "proto/import.h"
#include "tests/support/cases.h"
#include "tests/support/temporary_folder.h"

using namespace ondine;

namespace {

namespace fs = std::filesystem;

struct Expectation {
  std::string verdict;
  std::string mention;
};

Expectation read_expectation(const fs::path& folder) {
  std::ifstream file(folder / "expect");
  Expectation out;
  std::getline(file, out.verdict);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("mention: ")) out.mention = line.substr(9);
  }
  return out;
}

// Found when the graph is checked.
bool belongs_to_a_later_stage(const std::string& name) {
  return name == "file-ir-version-future" || name == "file-opset-future" ||
         name == "file-opset-missing" || name == "bomb-function-doubling";
}

bool is_ours(const std::string& name) {
  if (belongs_to_a_later_stage(name)) return false;
  return name.starts_with("file-") || name.starts_with("tensor-") || name.starts_with("ext-") ||
         name.starts_with("bomb-");
}

// A copy beside a copy of the folder that no case may read, with what its script makes.
fs::path prepare(const fs::path& folder, const fs::path& target) {
  fs::copy(folder.parent_path() / "outside", target / "outside", fs::copy_options::recursive);
  const fs::path copy = target / folder.filename();
  fs::copy(folder, copy, fs::copy_options::recursive);
  if (fs::exists(copy / "setup.sh")) {
    const std::string command = "cd '" + copy.string() + "' && sh setup.sh";
    REQUIRE(std::system(command.c_str()) == 0);
  }
  return copy;
}

}  // namespace

TEST_CASE("hostile files, tensors and external data are refused with the culprit's name") {
  const auto folders = test::case_folders("hostile");
  if (folders.empty()) WARN("the hostile cases are not there");
  for (const auto& folder : folders) {
    const std::string name = folder.filename().string();
    const Expectation expected = read_expectation(folder);
    if (!is_ours(name) || expected.verdict != "reject") continue;
    INFO(name);
    const test::TemporaryFolder scratch;
    const fs::path copy = prepare(folder, scratch.path());
    try {
      load_model(copy / "model.onnx");
      FAIL_CHECK("was loaded");
    } catch (const Error& error) {
      INFO(error.what());
      CHECK(error.code() != ErrorCode::internal);
      CHECK(std::string(error.what()).find(expected.mention) != std::string::npos);
    }
  }
}

TEST_CASE("valid models beside the hostile ones are imported") {
  for (const auto& folder : test::case_folders("hostile")) {
    if (read_expectation(folder).verdict == "reject") continue;
    INFO(folder);
    const test::TemporaryFolder scratch;
    CHECK_NOTHROW(load_model(prepare(folder, scratch.path()) / "model.onnx"));
  }
}
