#include "proto/export.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include <ondine/error.h>

#include "core/deferred.h"
#include "proto/import.h"
#include "tests/proto/full_model.h"
#include "tests/proto/model_difference.h"
#include "tests/proto/wire.h"
#include "tests/support/cases.h"
#include "tests/support/temporary_folder.h"

using namespace ondine;
using test::model_difference;

namespace {

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Fails the n-th operation that changes something on disk.
class FailingFiles final : public FileSystem {
 public:
  explicit FailingFiles(int successes) : left_(successes) {}
  IoResult create(const std::string& path, const std::string& like) override {
    return fails() ? broken : real_.create(path, like);
  }
  IoResult open(const std::string& path) override { return real_.open(path); }
  IoResult lock(const std::string& path) override { return real_.lock(path); }
  IoResult write(Handle handle, std::span<const std::byte> bytes) override {
    return fails() ? broken : real_.write(handle, bytes);
  }
  IoResult read(Handle handle, std::span<std::byte> bytes) override {
    return real_.read(handle, bytes);
  }
  IoResult size(Handle handle) override { return real_.size(handle); }
  IoResult sync(Handle handle) override { return fails() ? broken : real_.sync(handle); }
  IoResult close(Handle handle) override { return real_.close(handle); }
  IoResult rename(const std::string& from, const std::string& to) override {
    return fails() ? broken : real_.rename(from, to);
  }
  IoResult link(const std::string& file, const std::string& name) override {
    return fails() ? broken : real_.link(file, name);
  }
  IoResult remove(const std::string& path) override {
    return fails() ? broken : real_.remove(path);
  }
  IoResult sync_folder(const std::string& path) override {
    return fails() ? broken : real_.sync_folder(path);
  }
  IoResult list(const std::string& folder, std::vector<std::string>& names) override {
    return real_.list(folder, names);
  }
  bool failed() const { return left_ < 0; }

 private:
  // Once broken, like a machine that has lost power, for ever.
  bool fails() { return --left_ < 0; }

  static constexpr IoResult broken{0, 5};
  PosixFileSystem real_;
  int left_;
};

graph::ModelDef weights(float value) {
  graph::ModelDef model;
  model.ir_version = 8;
  model.graph.name = "g";
  model.graph.initializers.push_back(
      {"w", Tensor::of(Shape{4}, std::vector<float>(4, value)), "", {}});
  return model;
}

}  // namespace

TEST_CASE("everything in a model survives export and import") {
  const auto model = test::full_model();
  CHECK(model_difference(model, load_model(export_model(model))).empty());
}

TEST_CASE("a difference between models is found") {
  const auto model = test::full_model();
  auto other = model;
  other.functions[0].nodes[0].devices.edit()[0].shardings[0].dims[0].parts[1].shards = 9;
  CHECK_FALSE(model_difference(model, other).empty());
  other = model;
  other.graph.initializers[0].value = Tensor(DType::float32, {6});
  CHECK_FALSE(model_difference(model, other).empty());
}

TEST_CASE("the models of the shared collections survive export and import") {
  for (const auto* collection : {"training", "backend/simple", "backend/node"}) {
    const auto folders = test::case_folders(collection);
    if (folders.empty()) WARN("no cases in " << collection);
    for (const auto& folder : folders) {
      INFO(folder);
      const auto model = load_model(folder / "model.onnx");
      CHECK(model_difference(model, load_model(export_model(model))).empty());
    }
  }
}

TEST_CASE("tensors above a size go to a file beside the model, at page boundaries") {
  const test::TemporaryFolder folder;
  const auto model = test::full_model();
  save_model(model, folder / "m.onnx", 8);
  const auto names = names_in(folder.path());
  REQUIRE(names.size() == 2);
  CHECK(names[1].starts_with("m.onnx."));
  CHECK(names[1].ends_with(".data"));
  CHECK(std::filesystem::file_size(folder / names[1]) > 4096);
  CHECK(model_difference(model, load_model(folder / "m.onnx")).empty());
}

TEST_CASE("elements that are computed when they are read do not stay in memory after an export") {
  const test::TemporaryFolder folder;
  const std::size_t bytes = std::size_t{256} << 10;
  const auto elements = std::make_shared<DeferredElements>(bytes, [](std::span<std::byte> memory) {
    const std::span values(reinterpret_cast<float*>(memory.data()), memory.size() / 4);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  });
  graph::ModelDef model;
  model.ir_version = 8;
  model.opsets = {{"", 17}};
  model.graph.initializers.push_back(
      {"w", Tensor::share(DType::float32, {1 << 16}, elements), {}, {}});
  for (const std::optional<std::uint64_t> from : {std::optional<std::uint64_t>(), {1024}}) {
    save_model(model, folder / "model.onnx", from);
    CHECK_FALSE(elements->computed());
    const Tensor read = load_model(folder / "model.onnx").graph.initializers[0].value;
    CHECK(read.values<float>()[40'000] == 40'000);
  }
}

TEST_CASE("a tensor of just the size goes to the file, one byte less stays") {
  const auto model = weights(1);
  const std::uint64_t bytes = model.graph.initializers[0].value.bytes();
  for (const std::uint64_t more : {0, 1}) {
    const test::TemporaryFolder folder;
    save_model(model, folder / "m.onnx", bytes + more);
    CHECK(names_in(folder.path()).size() == 2 - more);
  }
}

TEST_CASE("an external tensor has the length of its elements, not all that follows") {
  const test::TemporaryFolder folder;
  const auto model = weights(1);
  save_model(model, folder / "m.onnx", 0);
  std::ifstream file(folder / "m.onnx", std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::string bytes = std::to_string(model.graph.initializers[0].value.bytes());
  CHECK_THAT(text, Catch::Contains(test::Wire().block(1, "length").block(2, bytes).text()));
  CHECK_THAT(text, Catch::Contains(test::Wire().block(1, "offset").block(2, "0").text()));
}

TEST_CASE("without a size the model is one file") {
  const test::TemporaryFolder folder;
  save_model(weights(1), folder / "m.onnx");
  CHECK(names_in(folder.path()) == std::vector<std::string>{"m.onnx"});
  CHECK(model_difference(weights(1), load_model(folder / "m.onnx")).empty());
}

TEST_CASE("saving again replaces the model and touches nothing but left-overs of dead writers") {
  const test::TemporaryFolder folder;
  const std::vector<std::string> others{"m.onnx.0123456789abcdeg.data", "m.onnx.data",
                                        "m.onnx.0123456789abcdef.data",
                                        "other.onnx.0123456789abcdef.data"};
  for (const auto& name : others) std::ofstream(folder / name) << "kept";
  std::ofstream(folder / "m.onnx.0123456789abcdef.data.ondine-tmp-1-2") << "left by a dead one";
  save_model(weights(1), folder / "m.onnx", 0);
  CHECK(names_in(folder.path()).size() == others.size() + 2);
  save_model(weights(1), folder / "m.onnx", 0);  // the same data has the same name
  CHECK(names_in(folder.path()).size() == others.size() + 2);
  save_model(weights(2), folder / "m.onnx", 0);
  CHECK(model_difference(load_model(folder / "m.onnx"), weights(2)).empty());
  save_model(weights(3), folder / "m.onnx");
  CHECK(model_difference(load_model(folder / "m.onnx"), weights(3)).empty());
}

TEST_CASE("a copy of an export under another name keeps its data when the export is replaced") {
  const test::TemporaryFolder folder;
  save_model(weights(1), folder / "m.onnx", 0);
  std::filesystem::copy_file(folder / "m.onnx", folder / "copy.onnx");
  save_model(weights(2), folder / "m.onnx", 0);
  save_model(weights(3), folder / "m.onnx");
  CHECK(model_difference(load_model(folder / "copy.onnx"), weights(1)).empty());
}

TEST_CASE("a write that fails at any point leaves the old model or the new one") {
  bool finished = false;
  int replaced = 0;
  int kept = 0;
  for (int successes = 0; !finished; ++successes) {
    REQUIRE(successes < 100);
    INFO(successes);
    const test::TemporaryFolder folder;
    save_model(weights(1), folder / "m.onnx", 0);
    FailingFiles files(successes);
    try {
      save_model(files, weights(2), folder / "m.onnx", 0);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::io);
    }
    finished = !files.failed();
    const auto left = load_model(folder / "m.onnx");
    const bool is_new = model_difference(left, weights(2)).empty();
    CHECK((is_new || model_difference(left, weights(1)).empty()));
    ++(is_new ? replaced : kept);
  }
  CHECK(replaced > 1);
  CHECK(kept > 1);
}

TEST_CASE("2 GiB of tensors do not fit into a model file") {
  auto model = weights(1);
  const auto page = std::make_shared<std::vector<float>>(4);
  const std::int64_t count = std::int64_t{1} << 29;
  // Never read: the sum is refused before.
  model.graph.initializers[0].value = Tensor::wrap(DType::float32, {count}, page->data());
  try {
    export_model(model);
    FAIL_CHECK("was written");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::limit);
  }
}
