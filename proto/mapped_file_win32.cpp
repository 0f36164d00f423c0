#include <io.h>

#include <algorithm>
#include <cerrno>

#include "core/checked.h"
#include "core/files/file.h"
#include "core/message.h"
#include "core/system/windows.h"
#include "proto/mapped_file.h"

namespace ondine {

Descriptor::~Descriptor() {
  if (is_open()) ::_close(fd_);
}

namespace {

constexpr std::size_t largest_read = std::size_t{4} << 20;

HANDLE handle_of(const Descriptor& descriptor) noexcept {
  return reinterpret_cast<HANDLE>(::_get_osfhandle(descriptor.get()));
}

[[noreturn]] void fail_now(const char* verb, const std::string& name) {
  fail_io(verb, name, windows::errno_of(::GetLastError()));
}

std::size_t size_of(const Descriptor& descriptor, const std::string& name) {
  FILE_STANDARD_INFO facts{};
  if (::GetFileType(handle_of(descriptor)) != FILE_TYPE_DISK) {
    fail(ErrorCode::io, quoted(name), " is not a regular file");
  }
  if (!::GetFileInformationByHandleEx(handle_of(descriptor), FileStandardInfo, &facts,
                                      sizeof(facts))) {
    fail_now("read", name);
  }
  if (facts.Directory) fail(ErrorCode::io, quoted(name), " is not a regular file");
  return size_in_memory(static_cast<std::uint64_t>(facts.EndOfFile.QuadPart),
                        "file " + quoted(name));
}

}  // namespace

std::optional<MappedFile::Version> MappedFile::version_of(const Descriptor& descriptor) {
  BY_HANDLE_FILE_INFORMATION facts{};
  if (!::GetFileInformationByHandle(handle_of(descriptor), &facts)) return std::nullopt;
  const auto joined = [](DWORD high, DWORD low) {
    return static_cast<std::int64_t>(std::uint64_t{high} << 32 | low);
  };
  return Version{joined(facts.nFileSizeHigh, facts.nFileSizeLow),
                 joined(facts.ftLastWriteTime.dwHighDateTime, facts.ftLastWriteTime.dwLowDateTime),
                 0};
}

// Windows does not replace or remove a file that is mapped: what others may replace, and so is
// watched, is copied.
MappedFile::MappedFile(const Descriptor& descriptor, const std::string& name, MapOptions options)
    : name_(name) {
  const std::size_t size = size_of(descriptor, name);
  if (size == 0) return;
  if (options.copied || options.watched) {
    copy(descriptor, size);
    return;
  }
  const windows::Handle mapping(
      ::CreateFileMappingW(handle_of(descriptor), nullptr,
                           options.writable ? PAGE_WRITECOPY : PAGE_READONLY, 0, 0, nullptr));
  if (!mapping.is_open()) fail_now("map", name);
  // The view keeps the mapping.
  const void* const memory =
      ::MapViewOfFile(mapping.get(), options.writable ? FILE_MAP_COPY : FILE_MAP_READ, 0, 0, size);
  if (memory == nullptr) fail_now("map", name);
  bytes_ = {static_cast<const std::byte*>(memory), size};
}

MappedFile::~MappedFile() {
  if (bytes_.empty()) return;
  auto* const memory = const_cast<std::byte*>(bytes_.data());
  if (copied_) {
    ::VirtualFree(memory, 0, MEM_RELEASE);
  } else {
    ::UnmapViewOfFile(memory);
  }
}

void MappedFile::copy(const Descriptor& descriptor, std::size_t size) {
  void* const memory = ::VirtualAlloc(nullptr, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
  if (memory == nullptr) fail_now("read", name_);
  const std::span<std::byte> whole(static_cast<std::byte*>(memory), size);
  for (std::span<std::byte> left = whole; !left.empty();) {
    OVERLAPPED place{};
    const std::uint64_t at = size - left.size();
    place.Offset = static_cast<DWORD>(at);
    place.OffsetHigh = static_cast<DWORD>(at >> 32);
    DWORD count = 0;
    const bool read =
        ::ReadFile(handle_of(descriptor), left.data(),
                   static_cast<DWORD>(std::min(left.size(), largest_read)), &count, &place);
    const DWORD code = read ? ERROR_SUCCESS : ::GetLastError();
    if (read && count > 0) {
      left = left.subspan(count);
      continue;
    }
    ::VirtualFree(memory, 0, MEM_RELEASE);
    if (!read && code != ERROR_HANDLE_EOF) fail_io("read", name_, windows::errno_of(code));
    fail(ErrorCode::io, quoted(name_), " became shorter while it was read");
  }
  bytes_ = whole;
  copied_ = true;
}

// Views of files leave the memory of the process as the system needs it.
void MappedFile::release(std::span<const std::byte>) const noexcept {}

void MappedFile::announce(std::span<const std::byte> part) const noexcept {
  if (part.empty() || copied_) return;
  WIN32_MEMORY_RANGE_ENTRY range{const_cast<std::byte*>(part.data()), part.size()};
  ::PrefetchVirtualMemory(::GetCurrentProcess(), 1, &range, 0);
}

}  // namespace ondine
