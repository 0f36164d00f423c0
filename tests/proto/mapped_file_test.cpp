#include "proto/mapped_file.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>

#include <ondine/error.h>

#include "tests/support/temporary_folder.h"

using namespace ondine;
using test::TemporaryFolder;

namespace {

const std::string text(50'000, 'a');

void write(const std::filesystem::path& file, const std::string& content) {
  std::ofstream(file, std::ios::binary) << content;
}

std::string content_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

ErrorCode code_of_change(const MappedFile& file) {
  try {
    file.require_unchanged();
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("w.bin") != std::string::npos);
    return error.code();
  }
  return ErrorCode::internal;
}

}  // namespace

TEST_CASE("a mapped file that shrinks, grows or is written to in place is an error") {
  const TemporaryFolder folder;
  const auto file = folder / "w.bin";
  write(file, text);
  const MappedFile mapped(open_file(file), "w.bin");
  CHECK(content_of(mapped) == text);
  CHECK_NOTHROW(mapped.require_unchanged());
  SECTION("it shrinks") { std::filesystem::resize_file(file, 10); }
  SECTION("it grows") { std::filesystem::resize_file(file, 50'001); }
  SECTION("it is written to") {
    const auto written = std::filesystem::last_write_time(file);
    std::filesystem::last_write_time(file, written + std::chrono::seconds(1));
  }
  CHECK(code_of_change(mapped) == ErrorCode::io);
}

TEST_CASE("replacing a mapped file by renaming or removing it changes nothing") {
  const TemporaryFolder folder;
  const auto file = folder / "w.bin";
  write(file, text);
  const MappedFile mapped(open_file(file), "w.bin");
  SECTION("renaming") {
    write(folder / "other", "b");
    std::filesystem::rename(folder / "other", file);
  }
  SECTION("removing") { std::filesystem::remove(file); }
  CHECK_NOTHROW(mapped.require_unchanged());
  CHECK(content_of(mapped) == text);
}

TEST_CASE("a copied file is independent of the file, also after releasing its pages") {
  const TemporaryFolder folder;
  const auto file = folder / "w.bin";
  write(file, text);
  const MappedFile copied(open_file(file), "w.bin", {.copied = true});
  std::filesystem::resize_file(file, 10);
  CHECK_NOTHROW(copied.require_unchanged());
  copied.release(copied.bytes());
  CHECK(content_of(copied) == text);
}

TEST_CASE("a mapping that is not watched takes no descriptor") {
  const TemporaryFolder folder;
  const auto file = folder / "w.bin";
  write(file, text);
  const int before = Descriptor(open_file(file)).get();
  const MappedFile mapped(open_file(file), "w.bin", {.watched = false});
  CHECK(open_file(file).get() == before);
  std::filesystem::resize_file(file, 50'001);
  CHECK_NOTHROW(mapped.require_unchanged());
}
