#include "core/system/system_memory.h"

#include <catch2/catch.hpp>

#ifdef __linux__
#include <sys/sysinfo.h>
#endif

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>

#include <ondine/limits.h>

#include "tests/support/temporary_folder.h"

using namespace ondine;
using test::TemporaryFolder;

namespace {

constexpr auto unlimited = std::numeric_limits<std::uint64_t>::max();

class Groups {
 public:
  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((folder_ / file).parent_path());
    std::ofstream(folder_ / file) << text;
  }
  // Limit in bytes of a process whose /proc/self/cgroup has this text.
  std::uint64_t limit(const std::string& text) const {
    write("self", text);
    return control_group_bytes((folder_ / "self").c_str(), (folder_ / "root").c_str());
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("without control groups there is no limit") {
  CHECK(control_group_bytes("/nowhere/self", "/nowhere") == unlimited);
  CHECK(Groups().limit("") == unlimited);
  CHECK(Groups().limit("0::/a\n") == unlimited);
}

TEST_CASE("the least limit of a control group and of those around it holds") {
  const Groups groups;
  groups.write("root/a/b/memory.max", "max\n");
  CHECK(groups.limit("0::/a/b\n") == unlimited);
  groups.write("root/a/memory.max", "5000000\n");
  CHECK(groups.limit("0::/a/b\n") == 5000000);
  CHECK(groups.limit("0::/c\n") == unlimited);
  groups.write("root/a/b/memory.max", "4000000\n");
  CHECK(groups.limit("0::/a/b\n") == 4000000);
  CHECK(groups.limit("0::/a\n") == 5000000);
  groups.write("root/memory.max", "3000000\n");
  CHECK(groups.limit("0::/a/b\n") == 3000000);
  CHECK(groups.limit("0::/\n") == 3000000);
}

TEST_CASE("limits of version 1 of control groups hold too") {
  const Groups groups;
  groups.write("root/memory/box/memory.limit_in_bytes", "7000000\n");
  groups.write("root/memory/memory.limit_in_bytes", "9223372036854771712\n");
  CHECK(groups.limit("5:cpu,cpuacct:/box\n4:memory:/box\n0::/\n") == 7000000);
  CHECK(groups.limit("4:memory:/other\n") == 9223372036854771712U);
  // The path of another controller is not that of the memory.
  CHECK(groups.limit("5:cpu,cpuacct:/box\n4:memory:/other\n") == 9223372036854771712U);
}

TEST_CASE("the default limit of a call's memory is three quarters of what the system can address") {
  const std::uint64_t system = system_memory_bytes();
  REQUIRE(system > 0);
  const std::uint64_t addresses = std::numeric_limits<std::size_t>::max();
  CHECK(Limits().arena_bytes == std::min(system, addresses) / 4 * 3);
  CHECK(Limits().arena_bytes == default_arena_bytes());
}

#ifdef __linux__
TEST_CASE("the system has what the kernel says of the machine, unless a control group has less") {
  struct sysinfo facts {};
  REQUIRE(::sysinfo(&facts) == 0);
  const std::uint64_t machine = std::uint64_t{facts.totalram} * facts.mem_unit;
  const std::uint64_t group = control_group_bytes("/proc/self/cgroup", "/sys/fs/cgroup");
  CHECK(system_memory_bytes() == std::min(machine, group));
}
#endif

TEST_CASE("lines of control groups that are none are passed over") {
  const Groups groups;
  groups.write("root/a/memory.max", "6000000\n");
  CHECK(groups.limit("nonsense\n0:\n0::/a\n") == 6000000);
  CHECK(groups.limit("0::/a") == 6000000);
  CHECK(groups.limit("3:cpu:/a\n") == unlimited);
  groups.write("root/b/memory.max", "many\n");
  CHECK(groups.limit("0::/b\n") == unlimited);
}
