#include "proto/mapped_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

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
// Resident pages of the mapping of a file of this name, as the operating system counts them;
// SIZE_MAX if there is no such mapping.
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
TEST_CASE("a mapping ends with its object") {
  const TemporaryFolder folder;
  write(folder / "ends.bin", text);
  {
    const MappedFile file(open_file(folder / "ends.bin"), "ends.bin");
    CHECK(content_of(file) == text);
    CHECK(resident_pages("ends.bin") <= 13);
  }
  CHECK(resident_pages("ends.bin") == SIZE_MAX);
}

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
  // The system may read them, the process does not have them.
  mapped.announce(mapped.bytes());
  CHECK(resident_pages("large.bin") == 0);
  CHECK(content_of(mapped) == large);
}

TEST_CASE("a mapping knows its own bytes") {
  const TemporaryFolder folder;
  write(folder / "w.bin", text);
  const MappedFile mapped(open_file(folder / "w.bin"), "w.bin");
  const auto bytes = mapped.bytes();
  CHECK(mapped.maps(bytes));
  CHECK(mapped.maps(bytes.last(1)));
  CHECK_FALSE(mapped.maps(bytes.first(0)));
  CHECK_FALSE(mapped.maps({bytes.data() + 1, bytes.size()}));
  const std::vector<std::byte> others(10);
  CHECK_FALSE(mapped.maps(others));
  const MappedFile copied(open_file(folder / "w.bin"), "w.bin", {.copied = true});
  CHECK_FALSE(copied.maps(copied.bytes()));
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

TEST_CASE("a file that is copied in several reads has its bytes in their order") {
  const TemporaryFolder folder;
  const auto file = folder / "w.bin";
  std::string large((std::size_t{9} << 20) + 5, '\0');
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i % 251);
  write(file, large);
  const MappedFile copied(open_file(file), "w.bin", {.copied = true});
  CHECK(content_of(copied) == large);
}

TEST_CASE("what the system refuses is an error of the file that says why") {
  const TemporaryFolder folder;
  const auto file = folder / "w.bin";
  write(file, text);
  const auto message = [&](int descriptor, MapOptions options) -> std::string {
    try {
      const MappedFile mapped(Descriptor{descriptor}, "w.bin", options);
      return "was read";
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::io);
      return error.what();
    }
  };
  const auto for_writing = [&] { return ::open(file.c_str(), O_WRONLY | O_CLOEXEC); };
  using Catch::Contains;
  CHECK_THAT(message(1 << 20, {}),
             Contains("read") && Contains("w.bin") && Contains("Bad file descriptor"));
  CHECK_THAT(message(for_writing(), {}),
             Contains("map") && Contains("w.bin") && Contains("Permission denied"));
  CHECK_THAT(message(for_writing(), {.copied = true}),
             Contains("read") && Contains("w.bin") && Contains("Bad file descriptor"));
  CHECK_THAT(message(::open(folder.path().c_str(), O_RDONLY | O_CLOEXEC), {}),
             Contains("'w.bin' is not a regular file"));
}

TEST_CASE("files of file systems that other machines write to are copied") {
  for (const std::uint32_t type :
       {0x6969U, 0x517BU, 0xFF534D42U, 0xFE534D42U, 0x65735546U, 0x01021997U, 0x00C36400U,
        0x5346414FU, 0x73757245U, 0x0BD00BD0U}) {
    INFO(std::hex << type);
    CHECK(is_remote_file_system(type));
  }
  // ext, XFS, Btrfs, tmpfs, overlay; unknown.
  for (const std::uint32_t type :
       {0xEF53U, 0x58465342U, 0x9123683EU, 0x01021994U, 0x794C7630U, 0U}) {
    INFO(std::hex << type);
    CHECK_FALSE(is_remote_file_system(type));
  }
}

TEST_CASE("an empty file has no bytes, mapped or copied") {
  const TemporaryFolder folder;
  write(folder / "w.bin", "");
  for (const bool copied : {false, true}) {
    const MappedFile mapped(open_file(folder / "w.bin"), "w.bin", {.copied = copied});
    CHECK(mapped.bytes().empty());
    CHECK_NOTHROW(mapped.require_unchanged());
  }
}

TEST_CASE("a writable mapping keeps what is written in this process") {
  const TemporaryFolder folder;
  write(folder / "w.bin", text);
  const MappedFile mapped(open_file(folder / "w.bin"), "w.bin", {.writable = true});
  const_cast<std::byte*>(mapped.bytes().data())[3] = std::byte{'b'};
  CHECK(content_of(mapped).substr(0, 6) == "aaabaa");
  const MappedFile again(open_file(folder / "w.bin"), "w.bin");
  CHECK(content_of(again) == text);
}

#ifdef __linux__
TEST_CASE("a file that gives less than its size became shorter") {
  // The kernel says 4096 bytes for each of these files.
  const std::filesystem::path file = "/sys/kernel/mm/transparent_hugepage/enabled";
  if (!std::filesystem::exists(file) || std::filesystem::file_size(file) < 100) return;
  CHECK_THROWS_WITH(MappedFile(open_file(file), "w.bin", {.copied = true}),
                    Catch::Contains("'w.bin' became shorter while it was read"));
}
#endif
