// The file system of the operating system, without any hook in between.
#include "core/files/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include <ondine/error.h>

#include "tests/support/temporary_folder.h"

using namespace ondine;

namespace {

struct Files {
  test::TemporaryFolder folder;
  PosixFileSystem files;
  std::string path = (folder / "a").string();

  // Makes a file with a text; its handle is closed.
  void put(const std::string& text) {
    const IoResult made = files.create(path, path);
    REQUIRE(made.error == 0);
    CHECK(files.write(made.value, std::as_bytes(std::span(text))).value ==
          static_cast<std::int64_t>(text.size()));
    CHECK(files.close(made.value).error == 0);
  }
};

}  // namespace

TEST_CASE("a folder that cannot be synced, as those of /proc, counts as synced") {
  PosixFileSystem files;
  CHECK(files.sync_folder("/proc").error == 0);
  CHECK(files.sync_folder("/proc/self/status").error == ENOTDIR);
}

TEST_CASE_METHOD(Files, "a file is written, read, renamed, linked and removed") {
  put("hello");
  CHECK(files.create(path, path).error == EEXIST);
  CHECK(files.rename(path, path + "2").error == 0);
  CHECK(files.open(path).error == ENOENT);
  CHECK(files.link(path + "2", path).error == 0);
  CHECK(files.link(path + "2", path).error == EEXIST);
  CHECK(files.remove(path + "2").error == 0);
  const IoResult opened = files.open(path);
  REQUIRE(opened.error == 0);
  CHECK(files.size(opened.value).value == 5);
  std::array<std::byte, 9> bytes{};
  CHECK(files.read(opened.value, bytes).value == 5);
  CHECK(std::to_integer<char>(bytes[4]) == 'o');
  CHECK(files.read(opened.value, bytes).value == 0);
  CHECK(files.close(opened.value).error == 0);
  std::vector<std::string> names;
  CHECK(files.list(folder.path().string(), names).error == 0);
  CHECK(std::count(names.begin(), names.end(), "a") == 1);
  CHECK(std::count(names.begin(), names.end(), "a2") == 0);
}

TEST_CASE_METHOD(Files, "syncing tells what the operating system answers") {
  put("x");
  const int folder_handle = ::open(folder.path().c_str(), O_RDONLY);
  const IoResult opened = files.open(path);
  CHECK(files.sync(opened.value).error == 0);
  CHECK(files.close(opened.value).error == 0);
  CHECK(files.sync(opened.value).error == EBADF);
  ::close(folder_handle);
  int pipe_ends[2];
  REQUIRE(::pipe(pipe_ends) == 0);
  CHECK(files.sync(pipe_ends[1]).error == EINVAL);  // nothing of a pipe can be durable
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
  CHECK(files.sync_folder(folder.path().string()).error == 0);
  CHECK(files.sync_folder(path + "/none").error != 0);
}

TEST_CASE_METHOD(Files, "only one handle at a time has the lock of a file") {
  CHECK(files.lock(path).error == ENOENT);
  put("x");
  const IoResult first = files.lock(path);
  REQUIRE(first.error == 0);
  CHECK(files.lock(path).error == EWOULDBLOCK);
  CHECK(files.close(first.value).error == 0);
  const IoResult second = files.lock(path);
  CHECK(second.error == 0);
  files.close(second.value);
  REQUIRE(::symlink(path.c_str(), (path + "-link").c_str()) == 0);
  CHECK(files.lock(path + "-link").error == ELOOP);
}

TEST_CASE_METHOD(Files, "only regular files are opened") {
  CHECK(files.open(folder.path().string()).error == EISDIR);
  CHECK(files.open("/dev/null").error == EINVAL);
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK(files.open(path).error == EINVAL);  // and does not wait for a writer
}

TEST_CASE_METHOD(Files, "errors of a file name it and the reason") {
  try {
    File::open(files, path);
    FAIL_CHECK("opened");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::not_found);
    CHECK_THAT(error.what(), Catch::Contains(path) && Catch::Contains("No such file"));
  }
}

TEST_CASE_METHOD(Files, "a file that is moved to another takes its place, whose handle is closed") {
  put("first");
  const std::string first = path;
  path += "2";
  put("second");
  File from = File::open(files, first);
  File to = File::open(files, path);
  const int next = ::dup(STDIN_FILENO);  // the lowest number that is free
  ::close(next);
  to = std::move(from);
  CHECK(to.size() == 5);
  CHECK(to.path() == first);
  std::array<std::byte, 5> bytes{};
  CHECK(to.read(bytes) == 5);
  CHECK(std::to_integer<char>(bytes[0]) == 'f');
  CHECK_FALSE(from.is_open());  // NOLINT: what is left of it is what the test is about
  const int freed = ::dup(STDIN_FILENO);
  CHECK(freed < next);
  ::close(freed);
  File same = std::move(to);
  CHECK(same.size() == 5);
  CHECK(same.path() == first);
  same.close();
  CHECK_FALSE(same.is_open());
}

TEST_CASE_METHOD(Files, "what the system says when a file is closed is an error of the file") {
  put("text");
  const IoResult opened = files.open(path);
  REQUIRE(opened.error == 0);
  File file(files, opened.value, path);
  REQUIRE(files.close(opened.value).error == 0);
  CHECK_THROWS_WITH(file.close(), Catch::Contains("cannot close") && Catch::Contains(path) &&
                                      Catch::Contains("Bad file descriptor"));
  CHECK_FALSE(file.is_open());
}
