#include "proto/mapped_file.h"

#include <unistd.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
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

#ifdef __linux__
// Of the mapping of a file of this name, as the operating system counts them.
std::size_t resident_pages(const std::string& name) {
  std::ifstream maps("/proc/self/smaps");
  bool is_inside = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.ends_with("/" + name)) is_inside = true;
    if (!is_inside || !line.starts_with("Rss:")) continue;
    return std::stoul(line.substr(4)) * 1024 / static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  }
  return SIZE_MAX;
}
#endif

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

#ifdef __linux__
TEST_CASE("released pages are not resident, and are read again when they are needed") {
  const TemporaryFolder folder;
  const auto file = folder / "large.bin";
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::string large(64 * page, 'p');
  write(file, large);
  const MappedFile mapped(open_file(file), "large.bin");
  CHECK(content_of(mapped) == large);
  CHECK(resident_pages("large.bin") == 64);
  // From within page 10 on to within page 29.
  mapped.release(mapped.bytes().subspan(10 * page + 5, 19 * page));
  CHECK(resident_pages("large.bin") == 44);
  CHECK(content_of(mapped) == large);
  mapped.release(mapped.bytes());
  CHECK(resident_pages("large.bin") == 0);
}
#endif

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
