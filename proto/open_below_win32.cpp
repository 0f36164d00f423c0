// Containment: each component is opened in turn without following links, and stays open so that
// nobody can put another one in its place meanwhile.
#include <fcntl.h>
#include <io.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <vector>

#include "core/files/file.h"
#include "core/message.h"
#include "core/system/windows.h"
#include "proto/location_parts.h"
#include "proto/mapped_file.h"

namespace ondine {
namespace {

using windows::Handle;
using windows::open_existing;

bool is_device(std::string_view part) {
  std::string stem(part.substr(0, part.find('.')));
  while (stem.ends_with(' ')) stem.pop_back();
  for (char& c : stem) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  constexpr std::array<std::string_view, 6> devices{"CON", "PRN",    "AUX",
                                                    "NUL", "CONIN$", "CONOUT$"};
  if (std::find(devices.begin(), devices.end(), stem) != devices.end()) return true;
  if (!stem.starts_with("COM") && !stem.starts_with("LPT")) return false;
  // Superscript digits count.
  constexpr std::array<std::string_view, 3> superscripts{"\xc2\xb9", "\xc2\xb2", "\xc2\xb3"};
  const std::string_view number = std::string_view(stem).substr(3);
  return (number.size() == 1 && number[0] >= '0' && number[0] <= '9') ||
         std::find(superscripts.begin(), superscripts.end(), number) != superscripts.end();
}

// Names that Windows takes for something other than the file of that name.
void require_plain(const std::string& part, const std::string& location) {
  const auto reject = [&](const char* why) {
    fail(ErrorCode::invalid_model, "location ", quoted(location), " ", why);
  };
  if (part.find_first_of("\\:<>\"|?*") != std::string::npos) {
    reject("has one of the characters \\ : < > \" | ? *, which names of Windows do not have");
  }
  if (std::any_of(part.begin(), part.end(), [](char c) { return c > 0 && c < ' '; })) {
    reject("has a control character");
  }
  if (part.ends_with('.') || part.ends_with(' ')) reject("ends with a dot or a space");
  if (is_device(part)) reject("names a device of Windows");
}

[[noreturn]] void refuse(const std::string& location) {
  fail_to_find("open", location, windows::errno_of(::GetLastError()));
}

BY_HANDLE_FILE_INFORMATION facts_of(const Handle& handle, const std::string& location) {
  BY_HANDLE_FILE_INFORMATION facts{};
  if (!::GetFileInformationByHandle(handle.get(), &facts)) refuse(location);
  if ((facts.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0) {
    fail(ErrorCode::invalid_model, "location ", quoted(location),
         " is reached through a symbolic link");
  }
  return facts;
}

// Also of a folder. Without FILE_SHARE_DELETE: it cannot be renamed or removed while it is open,
// which rights to its content bring about.
Handle open_plain(const std::wstring& name, DWORD access, const std::string& location) {
  Handle opened =
      open_existing(windows::long_name(name), access, FILE_SHARE_READ | FILE_SHARE_WRITE,
                    FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT);
  if (!opened.is_open()) refuse(location);
  return opened;
}

Descriptor descriptor_of(Handle handle) {
  const int fd =
      ::_open_osfhandle(reinterpret_cast<std::intptr_t>(handle.get()), _O_RDONLY | _O_BINARY);
  if (fd >= 0) handle.release();
  return Descriptor(fd);
}

std::wstring require_wide(const std::string& name) {
  std::optional<std::wstring> wide = windows::wide_name(name);
  if (!wide) fail_io("open", name, EILSEQ);
  return std::move(*wide);
}

}  // namespace

Descriptor open_below(const std::filesystem::path& folder, const std::string& location,
                      const Limits& limits, Resolver) {
  const auto parts = location_parts(location);
  for (const std::string& part : parts) require_plain(part, location);
  std::wstring at = folder.empty() ? L"." : folder.native();
  std::vector<Handle> folders;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    at += L"\\" + require_wide(parts[i]);
    folders.push_back(open_plain(at, FILE_LIST_DIRECTORY, location));
    facts_of(folders.back(), location);
  }
  at += L"\\" + require_wide(parts.back());
  Handle file = open_plain(at, GENERIC_READ, location);
  const BY_HANDLE_FILE_INFORMATION facts = facts_of(file, location);
  if ((facts.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0 ||
      ::GetFileType(file.get()) != FILE_TYPE_DISK) {
    fail(ErrorCode::io, quoted(location), " is not a regular file");
  }
  if (facts.nNumberOfLinks != 1 && !limits.allow_hard_links) {
    fail(ErrorCode::invalid_model, quoted(location), " is a file with ", facts.nNumberOfLinks,
         " names (hard links)");
  }
  Descriptor descriptor = descriptor_of(std::move(file));
  if (!descriptor.is_open()) fail_io("open", location, errno);
  return descriptor;
}

Descriptor open_file(const std::filesystem::path& file) {
  Handle opened = open_existing(windows::long_name(file.native()), GENERIC_READ, windows::share_all,
                                FILE_FLAG_BACKUP_SEMANTICS);
  if (!opened.is_open()) {
    fail_to_find("open", file.string(), windows::errno_of(::GetLastError()));
  }
  Descriptor descriptor = descriptor_of(std::move(opened));
  if (!descriptor.is_open()) fail_io("open", file.string(), errno);
  return descriptor;
}

}  // namespace ondine
