// Files after the system runs out of memory while they are read or written.
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <ondine/build.h>
#include <ondine/data.h>
#include <ondine/gradcheck.h>
#include <ondine/operators.h>
#include <ondine/prepare.h>
#include <ondine/weights.h>

#include "tests/support/file_content.h"
#include "tests/support/models.h"
#include "tests/support/random_tensor.h"
#include "tests/support/temporary_folder.h"
#include "tests/trainer/shortage_sweep.h"

using namespace ondine;
using namespace ondine::test;

namespace {

namespace fs = std::filesystem;
using Folder = std::map<std::string, std::string>;  // name and content

Folder contents(const fs::path& folder) {
  Folder all;
  for (const auto& entry : fs::directory_iterator(folder)) {
    all.emplace(entry.path().filename().string(), content(entry.path()));
  }
  return all;
}

void write(const fs::path& file, std::span<const std::byte> bytes) {
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

std::ptrdiff_t open_files() {
  const fs::directory_iterator files("/proc/self/fd");
  return std::distance(begin(files), end(files));
}

Model trained(int steps) {
  Model model = Model::load(encode(dropout_classifier()));
  const NamedValues feeds{{"x", random_floats({6, 8}, 1)}, {"label", Tensor(DType::int64, {6})}};
  for (int i = 0; i < steps; ++i) model.train_step(feeds);
  return model;
}

// save(model, file) of a model that trained on, over what it wrote before: the folder holds the old
// files or the new ones, and no other; no file stays open.
template <class Save>
void check_replaces(const Save& save, std::size_t most = 8000) {
  const Model old_model = trained(1);
  const Model new_model = trained(2);
  const TemporaryFolder folder;
  const fs::path file = folder / "file";
  save(old_model, file);
  const Folder before = contents(folder.path());
  save(new_model, file);
  const Folder after = contents(folder.path());
  REQUIRE(before != after);
  const auto reset = [&] {
    for (const auto& entry : fs::directory_iterator(folder.path())) fs::remove(entry.path());
    for (const auto& [name, bytes] : before) write(folder / name, std::as_bytes(std::span(bytes)));
  };
  const std::ptrdiff_t files = open_files();
  sweep_shortages(
      reset, [&] { save(new_model, file); },
      [&](bool refused) {
        CHECK((contents(folder.path()) == (refused ? before : after)));
        CHECK(open_files() == files);
      },
      most);
}

// read() gives the same, seen by view(result), whenever it ends well, and leaves no file open.
template <class Read, class View>
void check_reads(const Read& read, const View& view, std::size_t most = 8000) {
  const auto want = view(read());
  const std::ptrdiff_t files = open_files();
  std::optional<decltype(read())> got;
  std::size_t live = 0;
  sweep_shortages([&] { live = live_allocations(); }, [&] { got.emplace(read()); },
                  [&](bool refused) {
                    CHECK(got.has_value() != refused);
                    if (got) CHECK((view(*got) == want));
                    got.reset();
                    CHECK(live_allocations() == live);
                    CHECK(open_files() == files);
                  },
                  most);
}

// Number of failing allocations to try in calls that wait for the disk or take long; other calls
// fail in the same places.
constexpr std::size_t few = 60;

const auto fingerprint = [](const Model& model) { return model.fingerprint(); };

}  // namespace

TEST_CASE("a checkpoint that is not saved for want of memory leaves the old one") {
  const Properties properties{{"a name of more than a few letters", std::string(100, 'x')}};
  check_replaces([&](const Model& model, const fs::path& file) {
    model.save_checkpoint(file, {1, 2, 3}, properties);
  });
}

TEST_CASE("a model that is not exported for want of memory leaves the old one") {
  check_replaces([](const Model& model, const fs::path& file) { model.export_inference(file); });
  check_replaces([](const Model& model, const fs::path& file) { model.export_training(file); });
}

TEST_CASE("an export with external data without memory leaves a model with its data") {
  const Model old_model = trained(1);
  const Model new_model = trained(2);
  const TemporaryFolder folder;
  const fs::path file = folder / "model.onnx";
  ExportOptions options;
  options.external_data_from = 100;
  sweep_shortages([&] { old_model.export_training(file, options); },
                  [&] { new_model.export_training(file, options); },
                  [&](bool refused) {
                    const Model read = Model::load(file);
                    const Model& want = refused ? old_model : new_model;
                    CHECK((read.parameters() == want.parameters()));
                  },
                  few);
}

TEST_CASE("weights that are not saved for want of memory leave the old ones") {
  check_replaces([](const Model& model, const fs::path& file) { save_weights(model, file); });
}

TEST_CASE("a checkpoint or weights that are not read for want of memory leave the state") {
  const TemporaryFolder folder;
  const fs::path checkpoint = folder / "c";
  const fs::path weights = folder / "w";
  const Model source = trained(3);
  trained(2).save_checkpoint(checkpoint);
  source.save_checkpoint(checkpoint);  // there is an older generation to fall back to
  save_weights(source, weights, WeightSet::all);
  const std::ptrdiff_t files = open_files();
  Model model = trained(1);
  const Model untouched = trained(1);
  const auto restores = [&](const auto& restore, std::uint64_t steps) {
    sweep_shortages([&] { model = trained(1); }, restore,
                    [&](bool refused) {
                      const Model& want = refused ? untouched : source;
                      CHECK((model.parameters() == want.parameters()));
                      CHECK(model.get_state("count").identical(want.get_state("count")));
                      CHECK(model.steps() == (refused ? 1 : steps));
                      CHECK(open_files() == files);
                    });
  };
  restores([&] { model.restore_checkpoint(checkpoint); }, 3);
  restores([&] { load_weights(model, weights, WeightSet::all); }, 1);
}

TEST_CASE("a model file is refused without memory, by each that reads one") {
  const TemporaryFolder folder;
  const fs::path file = folder / "model.onnx";
  ExportOptions external;
  external.external_data_from = 100;
  trained(1).export_training(file, external);
  check_reads([&] { return Model::load(file); }, fingerprint);
  check_reads([&] { return operators_of(file); }, [](const auto& uses) { return uses.size(); },
              few);
  // A limit that is reached is a finding of check_model, and so may memory be.
  const auto told = [](const std::vector<std::string>& findings, std::size_t count) {
    const bool memory = std::any_of(findings.begin(), findings.end(), [](const auto& text) {
      return text.find("memory") != std::string::npos || text.find("left") != std::string::npos;
    });
    return memory || findings.size() == count;
  };
  check_reads([&] { return check_model(file); },
              [&](const auto& findings) { return told(findings, 0); }, few);
  const fs::path broken = folder / "broken.onnx";
  ModelBuilder builder("broken");
  builder.node("Relu", {"nothing"});
  builder.node("Relu", {"nothing else"});
  builder.save(broken);
  check_reads([&] { return check_model(broken); },
              [&](const auto& findings) { return told(findings, 2); });
  check_reads([&] { return ondine::GradientCheck(file); },
              [](const ondine::GradientCheck& check) { return check.inputs().size(); }, few);
}

TEST_CASE("a model that is not prepared for want of memory leaves no file") {
  const TemporaryFolder folder;
  const fs::path input = folder / "input.onnx";
  const fs::path output = folder / "output.onnx";
  trained(0).export_inference(input);
  sweep_shortages([&] { fs::remove(output); }, [&] { prepare(input, output, {}); },
                  [&](bool refused) { CHECK(fs::exists(output) != refused); }, few);
  CHECK(check_model(output).empty());
}

TEST_CASE("arrays and batches are refused without memory") {
  const TemporaryFolder folder;
  const fs::path array = folder / "x.npy";
  const fs::path value = folder / "x.pb";
  const Tensor x = random_floats({12, 8}, 1);
  const auto same = [&](const NamedValues& got) { return got.at(0).second.tensor().identical(x); };
  sweep_shortages([&] { save_array(array, x); }, [](bool) {});
  sweep_shortages([&] { save_value(value, {"x", x}); }, [](bool) {});
  check_reads([&] { return load_array(array); },
              [&](const Tensor& got) { return got.identical(x); });
  check_reads([&] { return load_arrays(array); }, same);
  check_reads([&] { return load_value(value, "tensor(float)[N, 8]"); },
              [&](const NamedValue& got) { return got.second.tensor().identical(x); });
  const std::vector<fs::path> places{folder.path()};
  check_reads([&] { return load_splits(places); },
              [&](const DataSplits& splits) { return same(splits.train); });
  check_reads([&] { return shuffled(10, 1, 2); }, [](const auto& order) { return order; });
  const Model model = trained(0);
  const std::vector<PortInfo> inputs = model.inputs();
  const NamedValues arrays{{"x", x}};
  check_reads([&] { return Feeder(inputs, arrays); },
              [](const Feeder& feeder) { return feeder.size(); });
  Feeder feeder(inputs, arrays);
  const std::vector<std::uint64_t> all{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const std::vector<std::uint64_t> two{3, 4};
  sweep_shortages([&] { feeder.take(two); }, [&] { feeder.take(all); }, [](bool) {});
  const std::span<const NamedValue> taken = feeder.take(all);
  CHECK(taken[0].second.tensor().identical(x));
}

TEST_CASE("a model that is built grows by whole parts when memory runs out") {
  const std::string name = "a name that does not lie within its string";
  std::optional<ModelBuilder> builder;
  std::vector<std::byte> before;
  std::vector<std::byte> after;
  const auto start = [&] {
    builder.emplace(name);
    before = builder->bytes();
  };
  const auto grows = [&](const auto& grow) {
    start();
    grow();
    after = builder->bytes();
    sweep_shortages(start, grow,
                    [&](bool refused) { CHECK((builder->bytes() == (refused ? before : after))); });
  };
  // Memory that the caller takes for the argument is not the library's.
  const Tensor one = Tensor::scalar(1.0F);
  grows([&] { builder->initializer("w", one); });
  grows([&] { builder->input("x", DType::float32, {}); });
  grows([&] { builder->output("y", DType::float32, {}); });
  grows([&] { builder->node("Relu", {}); });
  grows([&] { builder->node("Relu", "ai.other", {}, {}); });
  check_reads([&] { return builder->bytes(); }, [](const auto& bytes) { return bytes; });
}
