// Modes, links and locks of files that are replaced.
#include "core/files/atomic_file.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <string>
#include <vector>

#include <ondine/error.h>
#include <ondine/replace_file.h>

#include "core/files/lock_file.h"
#include "tests/support/temporary_folder.h"

using namespace ondine;
namespace fs = std::filesystem;

namespace {

struct Folder {
  test::TemporaryFolder folder;
  PosixFileSystem files;
  std::string path = at("a");

  std::string at(const std::string& name) const { return (folder / name).string(); }
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& entry : fs::directory_iterator(folder.path())) {
      result.push_back(entry.path().filename().string());
    }
    std::sort(result.begin(), result.end());
    return result;
  }

  void put(const std::string& text, AtomicWriteOptions options = {}) {
    atomic_write(
        files, path, [&](Sink& sink) { sink.write(std::as_bytes(std::span(text))); }, options);
  }
  static std::string content(const std::string& name) {
    std::ifstream in(name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static mode_t mode(const std::string& name) {
    struct stat facts {};
    REQUIRE(::stat(name.c_str(), &facts) == 0);
    return facts.st_mode & 0777;
  }
};

// Sets the mask of new files while alive.
struct Mask {
  explicit Mask(mode_t mask) : before(::umask(mask)) {}
  ~Mask() { ::umask(before); }
  Mask(const Mask&) = delete;
  Mask& operator=(const Mask&) = delete;
  mode_t before;
};

}  // namespace

TEST_CASE_METHOD(Folder, "a new file has the mode of the process, a replaced one keeps its own") {
  const Mask mask(0027);
  put("1");
  CHECK(mode(path) == 0640);
  for (const mode_t kept : {0600, 0666, 0444, 0755}) {
    INFO(kept);
    REQUIRE(::chmod(path.c_str(), kept) == 0);
    put("2", {.keep_previous = true});
    CHECK(mode(path) == kept);
    CHECK(mode(path + ".prev") == kept);
  }
  CHECK(content(path) == "2");
}

TEST_CASE_METHOD(Folder, "a link is replaced without a wider mode than the mask allows") {
  const Mask mask(0022);
  std::ofstream(at("target")) << "t";
  REQUIRE(::chmod((at("target")).c_str(), 0666) == 0);
  fs::create_symlink("target", path);
  put("1");
  CHECK_FALSE(fs::is_symlink(path));
  CHECK(mode(path) == 0644);
  CHECK(content(at("target")) == "t");
}

TEST_CASE_METHOD(Folder, "a link is followed to its end, be it there or not") {
  CHECK(follow_link(path) == path);
  fs::create_directory(at("sub"));
  fs::create_symlink("sub/b", path);
  CHECK(follow_link(path) == at("sub/b"));
  fs::create_symlink("../c", at("sub/b"));
  CHECK(fs::path(follow_link(path)).lexically_normal() == fs::path(at("c")));
  fs::remove(at("sub/b"));
  fs::create_symlink("/nowhere", at("sub/b"));
  CHECK(follow_link(path) == "/nowhere");
  fs::create_symlink("loop", at("loop"));
  CHECK_THROWS_WITH(follow_link(at("loop")), Catch::Contains("leads to no file"));
}

TEST_CASE_METHOD(Folder, "a file is replaced whole or not at all") {
  replace_file(path, [](std::ostream& out) { out << "first " << 1 << '\n'; });
  CHECK(content(path) == "first 1\n");
  CHECK_THROWS_WITH(replace_file(path,
                                 [](std::ostream& out) {
                                   out << "second";
                                   throw Error(ErrorCode::mismatch, "half way");
                                 }),
                    Catch::Contains("half way"));
  CHECK(content(path) == "first 1\n");
  CHECK(names() == std::vector<std::string>{"a"});
  CHECK_THROWS_AS(replace_file("/dev/null", [](std::ostream&) {}), Error);
  CHECK_THROWS_AS(replace_file(at("none/a"), [](std::ostream&) {}), Error);
}

TEST_CASE_METHOD(Folder, "trying a file leaves nothing, not even of a file that has a like name") {
  std::ofstream(path + ".try") << "of the user";
  require_writable(files, path);
  CHECK(names() == std::vector<std::string>{"a.try"});
  CHECK_THROWS_AS(require_writable(files, at("none/a")), Error);
}

TEST_CASE_METHOD(Folder, "one object at a time has the lock of a file") {
  {
    LockFile first(files, path);
    CHECK(first.is_held());
    CHECK(names() == std::vector<std::string>{"a.lock"});
    CHECK_THROWS_WITH(LockFile(files, path),
                      Catch::Contains("in use") && Catch::Contains("a.lock"));
    LockFile moved = std::move(first);
    CHECK(moved.is_held());
    CHECK_THROWS_AS(LockFile(files, path), Error);
    const LockFile other(files, path + "2");
    CHECK(other.is_held());
  }
  CHECK(names().empty());
  const LockFile again(files, path);
  CHECK(again.is_held());
}

TEST_CASE_METHOD(Folder, "a lock ends with its process, and its file is taken over") {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const auto* lost = new LockFile(files, path);
    ::_exit(lost->is_held() ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  CHECK(names() == std::vector<std::string>{"a.lock"});
  const LockFile lock(files, path);
  CHECK(lock.is_held());
}

TEST_CASE_METHOD(Folder, "a fork that ends does not take the lock from its parent") {
  LockFile lock(files, path);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    lock.release();
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(names() == std::vector<std::string>{"a.lock"});
  CHECK_THROWS_AS(LockFile(files, path), Error);
}

TEST_CASE_METHOD(Folder, "what is at the place of a lock and is none is not taken for one") {
  fs::create_symlink("elsewhere", at("a.lock"));
  CHECK_THROWS_WITH(LockFile(files, path),
                    Catch::Contains("cannot lock") && Catch::Contains("a.lock"));
  fs::remove(at("a.lock"));
  fs::create_directory(at("a.lock"));
  CHECK_THROWS_AS(LockFile(files, path), Error);
}

TEST_CASE_METHOD(Folder, "where no lock can be made nothing is held and nothing fails") {
  const LockFile lock(files, at("none/a"));
  CHECK_FALSE(lock.is_held());
}
