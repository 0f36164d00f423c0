// The API of Windows and what the files *_win32.cpp, which alone include this, share.
#pragma once

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace ondine::windows {

// A name in UTF-8 as Windows takes it: the long_name in UTF-16. None for bytes that are no UTF-8
// and for names with a zero byte.
std::optional<std::wstring> wide_name(const std::string& name);
// From some length on the absolute name with the prefix that lifts the limit of 260 characters.
std::wstring long_name(std::wstring name);

// UTF-8 of UTF-16; lone surrogates become U+FFFD.
std::string utf8_of(const std::wstring& text);

// The errno of a code of GetLastError.
int errno_of(DWORD code) noexcept;

// A handle, closed by the destructor.
class Handle {
 public:
  Handle() = default;
  explicit Handle(HANDLE handle) noexcept : handle_(handle) {}
  Handle(Handle&& other) noexcept : handle_(other.release()) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Handle() {
    if (is_open()) ::CloseHandle(handle_);
  }

  bool is_open() const noexcept { return handle_ != INVALID_HANDLE_VALUE && handle_ != nullptr; }
  HANDLE get() const noexcept { return handle_; }
  HANDLE release() noexcept { return std::exchange(handle_, INVALID_HANDLE_VALUE); }

 private:
  HANDLE handle_ = INVALID_HANDLE_VALUE;
};

// Opens a file or a folder that exists. The error is left to GetLastError.
inline Handle open_existing(const std::wstring& name, DWORD access, DWORD sharing,
                            DWORD flags = FILE_ATTRIBUTE_NORMAL) noexcept {
  return Handle(
      ::CreateFileW(name.c_str(), access, sharing, nullptr, OPEN_EXISTING, flags, nullptr));
}

inline constexpr DWORD share_all = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

}  // namespace ondine::windows
