// Writers that die of SIGKILL.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <optional>
#include <random>

#include "checkpoints/store.h"
#include "tests/checkpoints/hooked_files.h"
#include "tests/checkpoints/sample.h"

using namespace ondine;
using namespace ondine::test;

namespace {

Checkpoint sample(std::uint64_t step) { return sample_checkpoint(step, 50'000); }

struct Writers {
  TemporaryFolder folder;
  PosixFileSystem disk;
  std::string path = folder / "model.ckpt";
  std::uint64_t acknowledged = 0;
  int unfinished = 0;  // kills that came in the middle of a save

  // A child saves the steps after the acknowledged one through `files`, reporting each, until it
  // dies: by `files`, or killed after some microseconds.
  void run(FileSystem& files, std::optional<unsigned> microseconds) {
    int reports[2];
    REQUIRE(::pipe(reports) == 0);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (std::uint64_t step = acknowledged + 1;; ++step) {
        save_checkpoint(files, path, sample(step));
        if (::write(reports[1], &step, sizeof(step)) != sizeof(step)) ::_exit(1);
      }
    }
    ::close(reports[1]);
    if (microseconds) {
      ::usleep(*microseconds);
      ::kill(child, SIGKILL);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    std::uint64_t step = 0;
    while (::read(reports[0], &step, sizeof(step)) == sizeof(step)) acknowledged = step;
    ::close(reports[0]);
  }

  // The file on disk holds the acknowledged step or the one that was being saved, bit for bit.
  void check() {
    if (folder.names().size() > 2) ++unfinished;
    if (acknowledged > 0 || ::access(path.c_str(), F_OK) == 0) {
      const Checkpoint found = load_checkpoint(disk, path).checkpoint;
      REQUIRE(found.step >= acknowledged);
      REQUIRE(found.step <= acknowledged + 1);
      REQUIRE(identical(found, sample(found.step)));
      acknowledged = found.step;
    }
    save_checkpoint(disk, path, sample(++acknowledged));
    for (const std::string& name : folder.names()) {
      const bool expected = name == "model.ckpt" || name == "model.ckpt.prev";
      REQUIRE(expected);
    }
  }

  void kill_at_random_moments(int rounds) {
    std::mt19937 random(static_cast<unsigned>(rounds));
    // On a busy machine a child may not come to save before it is killed: then it gets more time.
    for (int round = 0; round < rounds || (unfinished == 0 && round < 20 * rounds); ++round) {
      run(disk, static_cast<unsigned>(random() % 4000) * static_cast<unsigned>(1 + round / rounds));
      check();
    }
    CHECK(acknowledged >= static_cast<std::uint64_t>(rounds));
    CHECK(unfinished > 0);
  }
};

}  // namespace

TEST_CASE_METHOD(Writers, "kill -9 at random moments loses no acknowledged checkpoint") {
  kill_at_random_moments(100);
}

TEST_CASE_METHOD(Writers, "kill -9 at a thousand random moments loses no acknowledged checkpoint",
                 "[.slow]") {
  kill_at_random_moments(1000);
}

TEST_CASE_METHOD(Writers, "kill -9 before any single call of a save loses nothing") {
  save_checkpoint(disk, path, sample(++acknowledged));
  save_checkpoint(disk, path, sample(++acknowledged));
  bool finished = false;
  for (int at = 0; !finished; ++at) {
    const std::uint64_t before = acknowledged;
    int call = 0;
    HookedFiles dying(disk, [&](Op, const HookedFiles::Perform& perform) {
      if (call++ == at) ::kill(::getpid(), SIGKILL);
      return perform(all_bytes);
    });
    run(dying, std::nullopt);
    finished = acknowledged > before;
    check();
  }
  CHECK(unfinished > 5);
}
