// Files of Windows: names, replacement, locks.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cerrno>
#include <span>
#include <string>
#include <vector>

#include <ondine/error.h>

#include "core/files/atomic_file.h"
#include "core/files/lock_file.h"
#include "tests/windows/folder.h"

using namespace ondine;

namespace {

struct Files {
  test::Folder folder;
  PosixFileSystem files;

  void put(const std::string& path, const std::string& text) {
    atomic_write(files, path, [&](Sink& sink) { sink.write(std::as_bytes(std::span(text))); });
  }
  std::string read(const std::string& path) {
    File file = File::open(files, path);
    std::string text(static_cast<std::size_t>(file.size()), '\0');
    CHECK(file.read(std::as_writable_bytes(std::span(text))) == text.size());
    return text;
  }
  std::vector<std::string> names() {
    std::vector<std::string> all;
    CHECK(files.list(folder.path(), all).error == 0);
    std::erase_if(all, [](const std::string& name) { return name == "." || name == ".."; });
    std::sort(all.begin(), all.end());
    return all;
  }
};

}  // namespace

TEST_CASE_METHOD(Files, "a name with spaces and letters beyond ASCII comes back as it was given") {
  const std::string name = "M\xc3\xbcll \xe6\xbc\xa2 \xf0\x9f\x98\x80.txt";
  put(folder / name, "text");
  CHECK(names() == std::vector{name});
  CHECK(read(folder / name) == "text");
  CHECK(files.remove(folder / name).error == 0);
  CHECK(names().empty());
}

TEST_CASE_METHOD(Files, "a name that is no UTF-8 is refused") {
  CHECK(files.create(folder / "\xff", "").error == EILSEQ);
  CHECK(files.open(folder / "\xff").error == EILSEQ);
  CHECK(names().empty());
}

TEST_CASE_METHOD(Files, "ends of lines and the character that ends texts of DOS pass unchanged") {
  const std::string text("a\nb\r\nc\x1a d\0e", 11);
  put(folder / "a", text);
  CHECK(read(folder / "a") == text);
}

TEST_CASE_METHOD(Files, "a path of more than 260 characters names a file") {
  const std::string name(200, 'n');
  const std::string inner = folder / std::string(120, 'f');
  folder.make(inner);
  put(inner + "/" + name, "far down");
  CHECK(read(inner + "/" + name) == "far down");
  put(inner + "\\" + name, "replaced");
  CHECK(read(inner + "/" + name) == "replaced");
  CHECK(files.remove(inner + "/" + name).error == 0);
}

TEST_CASE_METHOD(Files, "what is no file cannot be opened as one") {
  CHECK(files.open(folder.path()).error == EISDIR);
  CHECK(files.open("NUL").error == EINVAL);
  CHECK(files.open(folder / "absent").error == ENOENT);
  CHECK(files.open(folder / "absent/a").error == ENOENT);
}

TEST_CASE_METHOD(Files, "a name that is taken is not created again") {
  put(folder / "a", "text");
  CHECK(files.create(folder / "a", "").error == EEXIST);
  CHECK(files.link(folder / "a", folder / "a").error == EEXIST);
  CHECK(read(folder / "a") == "text");
}

TEST_CASE_METHOD(Files, "a replaced file leaves its previous generation and nothing else") {
  const std::string path = folder / "net.ckpt";
  for (const char* text : {"first", "second", "third"}) {
    atomic_write(files, path,
                 [&](Sink& sink) { sink.write(std::as_bytes(std::span(std::string_view(text)))); },
                 {.keep_previous = true});
  }
  CHECK(read(path) == "third");
  CHECK(read(previous_generation(path)) == "second");
  CHECK(names() == std::vector<std::string>{"net.ckpt", "net.ckpt.prev"});
}

TEST_CASE_METHOD(Files, "a write that fails keeps the old file") {
  const std::string path = folder / "a";
  put(path, "old");
  CHECK_THROWS_AS(atomic_write(files, path, [](Sink&) { throw Error(ErrorCode::io, "full"); }),
                  Error);
  CHECK(read(path) == "old");
  CHECK(names() == std::vector<std::string>{"a"});
}

TEST_CASE_METHOD(Files, "files of a writer that died are removed by the next one") {
  const std::string path = folder / "a";
  const std::string stale = path + ".ondine-tmp-1234-0";
  const std::string living = path + ".ondine-tmp-1234-1";
  for (const std::string& name : {stale, living}) {
    files.close(files.create(name, "").value);
  }
  const IoResult locked = files.lock(living);
  REQUIRE(locked.error == 0);
  put(path, "text");
  CHECK(names() == std::vector<std::string>{"a", "a.ondine-tmp-1234-1"});
  CHECK(files.close(locked.value).error == 0);
  put(path, "text");
  CHECK(names() == std::vector<std::string>{"a"});
}

TEST_CASE_METHOD(Files, "a lock keeps a second one out until it goes") {
  const std::string path = folder / "run";
  LockFile first(files, path);
  CHECK(first.is_held());
  CHECK_THROWS_WITH(LockFile(files, path), Catch::Contains("in use by another run"));
  first.release();
  CHECK(names().empty());
  CHECK(LockFile(files, path).is_held());
}

TEST_CASE_METHOD(Files, "a locked file can be read and written") {
  const std::string path = folder / "a";
  put(path, "text");
  const IoResult locked = files.lock(path);
  REQUIRE(locked.error == 0);
  CHECK(read(path) == "text");
  CHECK(files.lock(path).error == EWOULDBLOCK);
  CHECK(files.close(locked.value).error == 0);
}

// Which of both depends on the file system: NTFS has the renaming of POSIX, that of Wine has not.
TEST_CASE_METHOD(Files, "a file that is read meanwhile is replaced, or stays and the write fails") {
  const std::string path = folder / "a";
  put(path, "old");
  File reader = File::open(files, path);
  std::string last = "new";
  try {
    put(path, "new");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::io);
    last = "old";
  }
  std::string text(3, '\0');
  CHECK(reader.read(std::as_writable_bytes(std::span(text))) == 3);
  CHECK(text == "old");
  CHECK(read(path) == last);
  CHECK(names() == std::vector<std::string>{"a"});
}
