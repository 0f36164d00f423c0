// Files below a folder and mapped files of Windows.
#include <catch2/catch.hpp>

#include <string>
#include <string_view>

#include <ondine/error.h>
#include <ondine/limits.h>

#include "core/files/atomic_file.h"
#include "proto/mapped_file.h"
#include "tests/windows/folder.h"

using namespace ondine;

namespace {

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

ErrorCode refusal(const test::Folder& folder, const std::string& location) {
  try {
    open_below(folder.path(), location, Limits());
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::internal;  // it was opened
}

}  // namespace

TEST_CASE("a file below a folder is found by either separator of ONNX alone") {
  const test::Folder folder;
  folder.make(folder / "in");
  folder.write("in\\w\xc3\xa4.bin", "weights");
  const MappedFile file(open_below(folder.path(), "in/./w\xc3\xa4.bin", Limits()), "w");
  CHECK(text_of(file) == "weights");
  CHECK(refusal(folder, "in\\w\xc3\xa4.bin") == ErrorCode::invalid_model);
}

TEST_CASE("names that Windows takes for something else are refused") {
  const test::Folder folder;
  folder.write("a", "text");
  for (const char* name : {"C:a",
                           "C:/a",
                           "/a",
                           "//server/share/a",
                           "..\\a",
                           "../a",
                           "a:stream",
                           "a::$DATA",
                           "a.",
                           "a ",
                           "a./b",
                           "con",
                           "NUL",
                           "nul.txt",
                           "Aux .x",
                           "COM1",
                           "com\xc2\xb9.bin",
                           "lpt9.a.b",
                           "in/PRN",
                           "CONIN$",
                           "a*",
                           "a?",
                           "a|b",
                           "<a>",
                           "\"a\"",
                           "a\x01",
                           "\\\\?\\C:\\a"}) {
    CAPTURE(name);
    CHECK(refusal(folder, name) == ErrorCode::invalid_model);
  }
  for (const char* name : {"console", "nulls.bin", "com10", "lpt", "comx", ".a"}) {
    CAPTURE(name);
    CHECK(refusal(folder, name) == ErrorCode::not_found);
  }
}

TEST_CASE("a folder below a folder is no file") {
  const test::Folder folder;
  folder.make(folder / "in");
  CHECK(refusal(folder, "in") == ErrorCode::io);
  CHECK(refusal(folder, "in/a") == ErrorCode::not_found);
}

TEST_CASE("a file with two names is refused unless the limits allow it") {
  const test::Folder folder;
  folder.write("a", "text");
  PosixFileSystem files;
  REQUIRE(files.link(folder / "a", folder / "b").error == 0);
  CHECK(refusal(folder, "b") == ErrorCode::invalid_model);
  CHECK(open_below(folder.path(), "b", Limits{.allow_hard_links = true}).is_open());
}

TEST_CASE("a model's file can be replaced while it is in use") {
  const test::Folder folder;
  folder.write("net.onnx", "old");
  PosixFileSystem files;
  const MappedFile file(open_file(folder / "net.onnx"), "net.onnx");
  atomic_write(files, folder / "net.onnx",
               [](Sink& sink) { sink.write(std::as_bytes(std::span(std::string_view("new")))); });
  CHECK(text_of(file) == "old");
  CHECK_NOTHROW(file.require_unchanged());
  CHECK(text_of(MappedFile(open_file(folder / "net.onnx"), "net.onnx")) == "new");
}

TEST_CASE("what is written to a mapping stays in the process") {
  const test::Folder folder;
  folder.write("x.npy", "abc");
  const MapOptions options{.watched = false, .writable = true};
  {
    const MappedFile file(open_file(folder / "x.npy"), "x.npy", options);
    CHECK(file.maps(file.bytes()));
    const_cast<std::byte&>(file.bytes()[0]) = std::byte{'X'};
    file.announce(file.bytes());
    file.release(file.bytes());
    CHECK(text_of(file) == "Xbc");
  }
  CHECK(text_of(MappedFile(open_file(folder / "x.npy"), "x.npy", options)) == "abc");
}

TEST_CASE("an empty file and a folder are told apart") {
  const test::Folder folder;
  folder.write("empty", "");
  CHECK(MappedFile(open_file(folder / "empty"), "empty").bytes().empty());
  CHECK_THROWS_WITH(MappedFile(open_file(folder.path()), "f"), Catch::Contains("regular file"));
  CHECK_THROWS_AS(open_file(folder / "absent"), Error);
}
