// Who may use a file that replaces another one.
#include <catch2/catch.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/files/atomic_file.h"
#include "core/system/windows.h"
#include "tests/windows/folder.h"
// After windows.h.
#include <sddl.h>

namespace ondine {
namespace {

std::vector<std::byte> access_list(const std::string& path) {
  const std::wstring name = *windows::wide_name(path);
  DWORD size = 0;
  ::GetFileSecurityW(name.c_str(), DACL_SECURITY_INFORMATION, nullptr, 0, &size);
  std::vector<std::byte> list(size);
  CHECK(::GetFileSecurityW(name.c_str(), DACL_SECURITY_INFORMATION, list.data(), size, &size));
  return list;
}

void set_access(const std::string& path, const wchar_t* rules) {
  PSECURITY_DESCRIPTOR list = nullptr;
  REQUIRE(::ConvertStringSecurityDescriptorToSecurityDescriptorW(rules, SDDL_REVISION_1, &list,
                                                                 nullptr));
  CHECK(::SetFileSecurityW(windows::wide_name(path)->c_str(), DACL_SECURITY_INFORMATION, list));
  ::LocalFree(list);
}

}  // namespace

TEST_CASE("a file that replaces another one has its access list") {
  const test::Folder folder;
  PosixFileSystem files;
  const auto put = [&](const std::string& path) {
    atomic_write(files, path, [](Sink& sink) {
      sink.write(std::as_bytes(std::span(std::string_view("text"))));
    });
  };
  const std::string path = folder / "a";
  put(path);
  const std::vector<std::byte> usual = access_list(path);
  // Administrators alone.
  set_access(path, L"D:P(A;;FA;;;BA)");
  const std::vector<std::byte> own = access_list(path);
  REQUIRE(own != usual);
  put(path);
  CHECK(access_list(path) == own);
  put(folder / "b");
  CHECK(access_list(folder / "b") == usual);
}

}  // namespace ondine
