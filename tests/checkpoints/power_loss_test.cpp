#include <catch2/catch.hpp>

#include <cerrno>
#include <optional>

#include "checkpoints/store.h"
#include "tests/checkpoints/crashing_disk.h"
#include "tests/checkpoints/hooked_files.h"
#include "tests/checkpoints/sample.h"

using namespace ondine;
using namespace ondine::test;

namespace {

const std::string path = "model.ckpt";

// The step that the files hold; nothing when they do not load. Fails the test when they load to
// something that was never saved.
std::optional<std::uint64_t> step_of(const CrashingDisk::Contents& files) {
  CrashingDisk disk(files);
  try {
    const Checkpoint found = load_checkpoint(disk, path).checkpoint;
    if (!identical(found, sample_checkpoint(found.step))) FAIL("step " << found.step << " differs");
    return found.step;
  } catch (const Error&) {
    return std::nullopt;
  }
}

struct Outcome {
  int crashes = 0;
  int losses = 0;
};

// Saves steps acknowledged + 1 ... last on `disk`, losing power at every point and in every way.
// A loss is a state that loads to less than the last acknowledged step, or not at all.
Outcome lose_power_everywhere(CrashingDisk& disk, std::uint64_t acknowledged, std::uint64_t last,
                              const HookedFiles::Hook& hook) {
  Outcome outcome;
  std::uint64_t saving = acknowledged;
  const auto check = [&] {
    for (const CrashingDisk::Contents& files : disk.after_power_loss()) {
      const auto step = step_of(files);
      ++outcome.crashes;
      if (step.value_or(0) < acknowledged) ++outcome.losses;
      if (step.value_or(0) > saving) FAIL("step " << *step << " was not saved yet");
    }
  };
  disk.on_change = check;
  HookedFiles files(disk, hook);
  while (acknowledged < last) {
    ++saving;
    save_checkpoint(files, path, sample_checkpoint(saving));
    acknowledged = saving;
    check();
  }
  disk.on_change = nullptr;
  return outcome;
}

// Pieces small enough for several writes to a file.
constexpr std::size_t piece = 300;

IoResult plain(Op, const HookedFiles::Perform& perform) { return perform(piece); }

HookedFiles::Hook without(Op dropped, int error = 0) {
  return [=](Op op, const HookedFiles::Perform& perform) {
    return op == dropped ? IoResult{0, error} : perform(piece);
  };
}

}  // namespace

TEST_CASE("power loss at any point of a save loses no acknowledged checkpoint") {
  CrashingDisk disk;
  const Outcome outcome = lose_power_everywhere(disk, 0, 4, plain);
  CHECK(outcome.losses == 0);
  CHECK(outcome.crashes > 100);
  CHECK(disk.names() == std::vector<std::string>{path, path + ".prev"});
}

TEST_CASE("without the fsync of the file, power loss loses a checkpoint") {
  CrashingDisk disk;
  CHECK(lose_power_everywhere(disk, 0, 4, without(Op::sync)).losses > 0);
}

TEST_CASE("without the fsync of the folder, power loss loses a checkpoint") {
  CrashingDisk disk;
  CHECK(lose_power_everywhere(disk, 0, 2, without(Op::sync_folder)).losses > 0);
}

TEST_CASE("power loss loses no checkpoint where there are no hard links or no locks") {
  CrashingDisk no_links;
  CHECK(lose_power_everywhere(no_links, 0, 4, without(Op::link, EPERM)).losses == 0);
  CHECK(no_links.names() == std::vector<std::string>{path, path + ".prev"});
  CrashingDisk no_locks;
  CHECK(lose_power_everywhere(no_locks, 0, 4, without(Op::lock, ENOLCK)).losses == 0);
}

TEST_CASE("a save over a damaged checkpoint keeps the whole previous one until it is durable") {
  std::vector<std::byte> damaged = encoded(sample_checkpoint(2));
  damaged[200] ^= std::byte{4};
  const CrashingDisk::Contents files{{path, damaged},
                                     {path + ".prev", encoded(sample_checkpoint(1))}};
  REQUIRE(step_of(files) == 1U);
  for (const auto& hook : {HookedFiles::Hook(plain), without(Op::link, EPERM)}) {
    CrashingDisk disk(files);
    CHECK(lose_power_everywhere(disk, 1, 3, hook).losses == 0);
  }
}

TEST_CASE("after any power loss the next save works and leaves no stray file") {
  CrashingDisk disk({{path, encoded(sample_checkpoint(1))}});
  std::vector<CrashingDisk::Contents> states;
  disk.on_change = [&] {
    for (auto& state : disk.after_power_loss()) states.push_back(std::move(state));
  };
  save_checkpoint(disk, path, sample_checkpoint(2));
  for (const CrashingDisk::Contents& state : states) {
    CrashingDisk again(state);
    save_checkpoint(again, path, sample_checkpoint(3));
    CHECK(load_checkpoint(again, path).checkpoint.step == 3);
    REQUIRE(again.names() == std::vector<std::string>{path, path + ".prev"});
  }
}
