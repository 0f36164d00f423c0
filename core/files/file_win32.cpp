// The calls of FileSystem with the promises and error numbers of POSIX. Files are opened so that
// others may rename or remove them meanwhile.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "core/files/file.h"
#include "core/system/windows.h"

namespace ondine {
namespace {

using windows::errno_of;
using windows::open_existing;
using windows::share_all;
using windows::wide_name;

// Above this some systems refuse a single call.
constexpr std::size_t largest_call = std::size_t{1} << 30;

IoResult last_error() noexcept { return {0, errno_of(::GetLastError())}; }

HANDLE handle_of(FileSystem::Handle handle) noexcept {
  return reinterpret_cast<HANDLE>(static_cast<std::intptr_t>(handle));
}

using Opened = windows::Handle;

IoResult keep(Opened& handle) noexcept {
  return {static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(handle.release())), 0};
}

// `call` with a name as Windows takes it.
template <class Call>
IoResult with_name(const std::string& name, Call call) {
  const std::optional<std::wstring> wide = wide_name(name);
  return wide ? call(*wide) : IoResult{0, EILSEQ};
}

// The access list of the file `like`, where there is one, for a file that has the rights of its
// folder. A file system without lists refuses.
void adopt(const std::wstring& name, const std::string& like) {
  const std::optional<std::wstring> wide = wide_name(like);
  if (!wide) return;
  const DWORD kind = ::GetFileAttributesW(wide->c_str());
  if (kind == INVALID_FILE_ATTRIBUTES ||
      (kind & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT)) != 0) {
    return;
  }
  DWORD size = 0;
  ::GetFileSecurityW(wide->c_str(), DACL_SECURITY_INFORMATION, nullptr, 0, &size);
  std::vector<std::byte> list(size);
  if (size != 0 &&
      ::GetFileSecurityW(wide->c_str(), DACL_SECURITY_INFORMATION, list.data(), size, &size)) {
    ::SetFileSecurityW(name.c_str(), DACL_SECURITY_INFORMATION, list.data());
  }
}

bool same_file(HANDLE a, HANDLE b) noexcept {
  BY_HANDLE_FILE_INFORMATION first{};
  BY_HANDLE_FILE_INFORMATION second{};
  return ::GetFileInformationByHandle(a, &first) && ::GetFileInformationByHandle(b, &second) &&
         first.dwVolumeSerialNumber == second.dwVolumeSerialNumber &&
         first.nFileIndexHigh == second.nFileIndexHigh &&
         first.nFileIndexLow == second.nFileIndexLow;
}

bool is_removed(HANDLE file) noexcept {
  FILE_STANDARD_INFO facts{};
  return ::GetFileInformationByHandleEx(file, FileStandardInfo, &facts, sizeof(facts)) &&
         facts.DeletePending;
}

// Windows keeps others from the bytes that are locked: a byte that no file has.
bool lock_beyond_end(HANDLE file) noexcept {
  OVERLAPPED place{};
  place.Offset = 0xfffffffe;
  place.OffsetHigh = 0x7fffffff;
  return ::LockFileEx(file, LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &place);
}

// Renaming by POSIX's rule: who has the replaced file open keeps it.
bool rename_open(HANDLE file, const std::wstring& name) {
  // From ntifs.h, which programs do not include.
  struct Rename {
    DWORD flags;
    HANDLE folder;
    DWORD name_bytes;
    WCHAR name[1];
  };
  constexpr auto rename_info_ex = static_cast<FILE_INFO_BY_HANDLE_CLASS>(22);
  constexpr DWORD replace_if_exists = 1;
  constexpr DWORD posix_semantics = 2;
  const std::size_t bytes = name.size() * sizeof(WCHAR);
  std::vector<std::byte> buffer(sizeof(Rename) + bytes);
  auto* const request = reinterpret_cast<Rename*>(buffer.data());
  request->flags = replace_if_exists | posix_semantics;
  request->name_bytes = static_cast<DWORD>(bytes);
  std::memcpy(request->name, name.data(), bytes);
  return ::SetFileInformationByHandle(file, rename_info_ex, request,
                                      static_cast<DWORD>(buffer.size()));
}

}  // namespace

IoResult PosixFileSystem::create(const std::string& path, const std::string& like) {
  return with_name(path, [&](const std::wstring& name) -> IoResult {
    Opened created(::CreateFileW(name.c_str(), GENERIC_WRITE, share_all, nullptr, CREATE_NEW,
                                 FILE_ATTRIBUTE_NORMAL, nullptr));
    if (!created.is_open()) return last_error();
    adopt(name, like);
    return keep(created);
  });
}

IoResult PosixFileSystem::open(const std::string& path) {
  return with_name(path, [](const std::wstring& name) -> IoResult {
    Opened opened = open_existing(name, GENERIC_READ, share_all);
    if (!opened.is_open()) {
      const IoResult failed = last_error();
      const DWORD kind = ::GetFileAttributesW(name.c_str());
      const bool is_folder =
          kind != INVALID_FILE_ATTRIBUTES && (kind & FILE_ATTRIBUTE_DIRECTORY) != 0;
      return is_folder ? IoResult{0, EISDIR} : failed;
    }
    if (::GetFileType(opened.get()) != FILE_TYPE_DISK) return {0, EINVAL};
    return keep(opened);
  });
}

IoResult PosixFileSystem::lock(const std::string& path) {
  return with_name(path, [](const std::wstring& name) -> IoResult {
    constexpr DWORD flags = FILE_FLAG_OPEN_REPARSE_POINT;
    Opened opened = open_existing(name, GENERIC_READ | GENERIC_WRITE, share_all, flags);
    if (!opened.is_open() && ::GetLastError() == ERROR_ACCESS_DENIED) {
      opened = open_existing(name, GENERIC_READ, share_all, flags);
    }
    if (!opened.is_open()) return last_error();
    if (!lock_beyond_end(opened.get())) return last_error();
    // Removed, or removed and made anew, before it was locked.
    const Opened named = open_existing(name, FILE_READ_ATTRIBUTES, share_all, flags);
    const bool same = !is_removed(opened.get()) && same_file(opened.get(), named.get());
    return same ? keep(opened) : IoResult{0, ENOENT};
  });
}

IoResult PosixFileSystem::write(Handle handle, std::span<const std::byte> bytes) {
  const auto n = static_cast<DWORD>(std::min(bytes.size(), largest_call));
  DWORD written = 0;
  if (!::WriteFile(handle_of(handle), bytes.data(), n, &written, nullptr)) return last_error();
  return {written, 0};
}

IoResult PosixFileSystem::read(Handle handle, std::span<std::byte> bytes) {
  const auto n = static_cast<DWORD>(std::min(bytes.size(), largest_call));
  DWORD got = 0;
  if (!::ReadFile(handle_of(handle), bytes.data(), n, &got, nullptr)) return last_error();
  return {got, 0};
}

IoResult PosixFileSystem::size(Handle handle) {
  LARGE_INTEGER size{};
  if (!::GetFileSizeEx(handle_of(handle), &size)) return last_error();
  return {size.QuadPart, 0};
}

IoResult PosixFileSystem::sync(Handle handle) {
  return ::FlushFileBuffers(handle_of(handle)) ? IoResult{} : last_error();
}

IoResult PosixFileSystem::close(Handle handle) {
  return ::CloseHandle(handle_of(handle)) ? IoResult{} : last_error();
}

// Returns when the new name is on the disk. A file that is open elsewhere so that it may be removed
// is replaced too, where the file system has the renaming of POSIX (NTFS since Windows 10).
IoResult PosixFileSystem::rename(const std::string& from, const std::string& to) {
  return with_name(from, [&](const std::wstring& old_name) {
    return with_name(to, [&](const std::wstring& new_name) -> IoResult {
      constexpr DWORD durable = MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH;
      if (::MoveFileExW(old_name.c_str(), new_name.c_str(), durable)) return {};
      const IoResult failed = last_error();
      if (failed.error != EACCES) return failed;
      const Opened file = open_existing(old_name, DELETE | GENERIC_WRITE, share_all);
      if (!file.is_open()) return failed;
      return rename_open(file.get(), new_name) ? sync(reinterpret_cast<std::intptr_t>(file.get()))
                                               : failed;
    });
  });
}

IoResult PosixFileSystem::link(const std::string& file, const std::string& name) {
  return with_name(file, [&](const std::wstring& existing) {
    return with_name(name, [&](const std::wstring& added) {
      return ::CreateHardLinkW(added.c_str(), existing.c_str(), nullptr) ? IoResult{}
                                                                         : last_error();
    });
  });
}

IoResult PosixFileSystem::remove(const std::string& path) {
  return with_name(path, [](const std::wstring& name) {
    return ::DeleteFileW(name.c_str()) ? IoResult{} : last_error();
  });
}

// Names are on the disk when rename returns; this is for the rest, where the system lets a program
// do it.
IoResult PosixFileSystem::sync_folder(const std::string& path) {
  return with_name(path, [](const std::wstring& name) -> IoResult {
    const DWORD kind = ::GetFileAttributesW(name.c_str());
    if (kind == INVALID_FILE_ATTRIBUTES) return last_error();
    if ((kind & FILE_ATTRIBUTE_DIRECTORY) == 0) return {0, ENOTDIR};
    const Opened folder = open_existing(name, GENERIC_WRITE, share_all, FILE_FLAG_BACKUP_SEMANTICS);
    if (folder.is_open()) ::FlushFileBuffers(folder.get());
    return {};
  });
}

IoResult PosixFileSystem::list(const std::string& folder, std::vector<std::string>& names) {
  return with_name(folder + "/*", [&](const std::wstring& pattern) -> IoResult {
    WIN32_FIND_DATAW entry{};
    HANDLE const search = ::FindFirstFileW(pattern.c_str(), &entry);
    if (search == INVALID_HANDLE_VALUE) return last_error();
    do {
      names.push_back(windows::utf8_of(entry.cFileName));
    } while (::FindNextFileW(search, &entry));
    const DWORD end = ::GetLastError();
    ::FindClose(search);
    return {0, end == ERROR_NO_MORE_FILES ? 0 : errno_of(end)};
  });
}

}  // namespace ondine
