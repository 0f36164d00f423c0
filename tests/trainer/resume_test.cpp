// Training that stops after any step and goes on in another process.
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <ondine/data.h>
#include <ondine/model.h>

#include "tests/support/models.h"
#include "tests/support/random_tensor.h"
#include "tests/support/temporary_folder.h"

using namespace ondine;
using namespace ondine::test;
namespace fs = std::filesystem;

namespace {

constexpr int steps = 50;
constexpr std::uint64_t rows = 24;
constexpr std::uint64_t batch = 4;  // 6 steps an epoch

// Row `r` of the data, the same in every process.
void put_row(std::uint64_t r, float* x, std::int64_t* label) {
  const Tensor row = random_floats({8}, 100 + r);
  std::copy_n(row.values<float>().data(), 8, x);
  *label = static_cast<std::int64_t>(r % 4);
}

// One batch in the shuffled order of the cursor's epoch, which then stands after it.
void step(Model& model, TrainingCursor& cursor) {
  const auto order = shuffled(rows, cursor.shuffle_seed, cursor.epoch);
  Tensor x(DType::float32, {batch, 8});
  Tensor label(DType::int64, {batch});
  for (std::uint64_t i = 0; i < batch; ++i) {
    put_row(order[cursor.position + i], x.mutable_values<float>().data() + 8 * i,
            label.mutable_values<std::int64_t>().data() + i);
  }
  model.train_step(NamedValues{{"x", x}, {"label", label}});
  cursor.position += batch;
  if (cursor.position == rows) cursor = {cursor.epoch + 1, cursor.shuffle_seed, 0};
}

fs::path file_of(const fs::path& folder, int done) {
  return folder / ("step" + std::to_string(done) + ".ckpt");
}

std::string content(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// This program again, as one that knows nothing but its environment. ONDINE_EMULATOR runs it where
// it was built for another machine.
int run_child(const fs::path& folder, int from) {
  const std::string self = fs::read_symlink("/proc/self/exe");
  const char* const emulator = std::getenv("ONDINE_EMULATOR");
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::setenv("ONDINE_RESUME_FOLDER", folder.c_str(), 1);
    ::setenv("ONDINE_RESUME_FROM", std::to_string(from).c_str(), 1);
    if (emulator != nullptr) {
      ::execl(emulator, emulator, self.c_str(), "[resume-child]", static_cast<char*>(nullptr));
    }
    ::execl(self.c_str(), "resume", "[resume-child]", static_cast<char*>(nullptr));
    ::_exit(127);
  }
  int status = -1;
  ::waitpid(pid, &status, 0);
  return status;
}

}  // namespace

TEST_CASE("the other process: from a checkpoint to the end", "[.resume-child]") {
  const char* folder = std::getenv("ONDINE_RESUME_FOLDER");
  const char* from = std::getenv("ONDINE_RESUME_FROM");
  if (folder == nullptr || from == nullptr) return;
  Model model = Model::load(encode(dropout_classifier()));
  TrainingCursor cursor = model.restore_checkpoint(file_of(folder, std::atoi(from))).cursor;
  while (model.steps() < steps) step(model, cursor);
  model.save_checkpoint(fs::path(folder) / "resumed.ckpt", cursor);
}

TEST_CASE("training resumed after any of 50 steps ends in the same checkpoint, byte for byte") {
  const TemporaryFolder folder;
  Model model = Model::load(encode(dropout_classifier()));
  model.initialize(17);
  TrainingCursor cursor{0, 5, 0};
  for (int done = 0; done < steps; ++done) {
    model.save_checkpoint(file_of(folder.path(), done), cursor);
    step(model, cursor);
  }
  model.save_checkpoint(folder / "whole.ckpt", cursor);
  const std::string whole = content(folder / "whole.ckpt");
  CHECK(whole != content(file_of(folder.path(), steps - 1)));
  for (int from = 0; from < steps; ++from) {
    INFO("resumed after step " << from);
    fs::remove(folder / "resumed.ckpt");
    REQUIRE(run_child(folder.path(), from) == 0);
    const bool same = content(folder / "resumed.ckpt") == whole;
    REQUIRE(same);
  }
}
