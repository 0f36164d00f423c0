// A small tmpfs in a mount namespace of a child process.
#include <catch2/catch.hpp>

#ifdef __linux__
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "checkpoints/store.h"
#include "tests/checkpoints/sample.h"

using namespace ondine;
using namespace ondine::test;

namespace {

constexpr int not_permitted = 77;

// 0, not_permitted, or the line of the first expectation that failed.
#define EXPECT_OR_RETURN(condition) \
  if (!(condition)) return static_cast<int>(__LINE__ % 64 + 1)

int fill_a_disk(const std::string& folder) {
  if (::unshare(CLONE_NEWNS) != 0 || ::mount("", "/", "", MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=256k") != 0) {
    return not_permitted;
  }
  PosixFileSystem disk;
  const std::string path = folder + "/model.ckpt";
  const auto sample = [](std::uint64_t step) { return sample_checkpoint(step, 15'000); };
  const auto files = [&] {
    return std::distance(std::filesystem::directory_iterator(folder),
                         std::filesystem::directory_iterator());
  };
  save_checkpoint(disk, path, sample(1));
  save_checkpoint(disk, path, sample(2));
  std::ofstream(folder + "/filler") << std::string(100'000, 'x');
  bool refused = false;
  try {
    save_checkpoint(disk, path, sample(3));
  } catch (const Error& error) {
    refused = error.code() == ErrorCode::io &&
              std::string_view(error.what()).find("No space left") != std::string_view::npos;
  }
  EXPECT_OR_RETURN(refused);
  EXPECT_OR_RETURN(files() == 3);
  EXPECT_OR_RETURN(identical(load_checkpoint(disk, path).checkpoint, sample(2)));
  std::filesystem::remove(folder + "/filler");
  save_checkpoint(disk, path, sample(4));
  EXPECT_OR_RETURN(identical(load_checkpoint(disk, path).checkpoint, sample(4)));
  EXPECT_OR_RETURN(files() == 2);
  return 0;
}

}  // namespace

TEST_CASE("a full disk leaves the old checkpoint and no temporary file") {
  const TemporaryFolder folder;
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    try {
      ::_exit(fill_a_disk(folder.path()));
    } catch (...) {
      ::_exit(99);
    }
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == not_permitted) {
    WARN("skipped: mounting a small tmpfs is not permitted here");
  } else {
    CHECK(WEXITSTATUS(status) == 0);
  }
}
#endif
