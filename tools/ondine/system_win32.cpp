#include <fcntl.h>
#include <io.h>
#include <stdlib.h>

#include <ondine/error.h>

#include "ondine/system.h"
#include "ondine/windows.h"
// After windows.h.
#include <psapi.h>
#include <shellapi.h>

namespace ondine::cli {

std::string utf8_of(const wchar_t* text) {
  const int size = ::WideCharToMultiByte(CP_UTF8, 0, text, -1, nullptr, 0, nullptr, nullptr);
  std::string utf8(static_cast<std::size_t>(size > 0 ? size - 1 : 0), '\0');
  ::WideCharToMultiByte(CP_UTF8, 0, text, -1, utf8.data(), size, nullptr, nullptr);
  return utf8;
}

std::wstring utf16_of(const std::string& text) {
  const int size = ::MultiByteToWideChar(CP_UTF8, 0, text.c_str(), -1, nullptr, 0);
  std::wstring wide(static_cast<std::size_t>(size > 0 ? size - 1 : 0), L'\0');
  ::MultiByteToWideChar(CP_UTF8, 0, text.c_str(), -1, wide.data(), size);
  return wide;
}

std::vector<std::string> program_arguments(int argc, char** argv) {
  int count = 0;
  wchar_t** const wide = ::CommandLineToArgvW(::GetCommandLineW(), &count);
  if (wide == nullptr) return {argv, argv + argc};
  std::vector<std::string> arguments;
  for (int i = 0; i < count; ++i) arguments.push_back(utf8_of(wide[i]));
  ::LocalFree(wide);
  return arguments;
}

std::filesystem::path program_file() {
  std::wstring name(32768, L'\0');
  const DWORD length = ::GetModuleFileNameW(nullptr, name.data(), static_cast<DWORD>(name.size()));
  name.resize(length);
  return name;
}

bool prepare_streams() noexcept {
  // Files that the program opens later pass bytes unchanged, too.
  ::_set_fmode(_O_BINARY);
  for (int fd = 0; fd <= 2; ++fd) {
    if (::_get_osfhandle(fd) < 0 && ::_open("NUL", _O_RDWR) != fd) return false;
    ::_setmode(fd, _O_BINARY);
  }
  ::SetConsoleOutputCP(CP_UTF8);
  ::SetConsoleCP(CP_UTF8);
  return true;
}

bool is_terminal(Stream stream) noexcept {
  HANDLE const handle = ::GetStdHandle(stream == Stream::in ? STD_INPUT_HANDLE : STD_OUTPUT_HANDLE);
  DWORD mode = 0;
  if (!::GetConsoleMode(handle, &mode)) return false;
  return stream == Stream::in ||
         ::SetConsoleMode(handle, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
}

std::uint64_t resident_peak() {
  PROCESS_MEMORY_COUNTERS counters{};
  counters.cb = sizeof(counters);
  if (!::K32GetProcessMemoryInfo(::GetCurrentProcess(), &counters, sizeof(counters))) return 0;
  return counters.PeakWorkingSetSize;
}

double processor_seconds() {
  FILETIME created{};
  FILETIME ended{};
  FILETIME kernel{};
  FILETIME user{};
  ::GetProcessTimes(::GetCurrentProcess(), &created, &ended, &kernel, &user);
  const auto seconds = [](const FILETIME& time) {
    return (static_cast<double>(time.dwHighDateTime) * 4294967296.0 +
            static_cast<double>(time.dwLowDateTime)) *
           1e-7;
  };
  return seconds(kernel) + seconds(user);
}

std::filesystem::path make_temporary_folder(const std::string& prefix) {
  const std::filesystem::path parent = std::filesystem::temp_directory_path();
  const std::string process = std::to_string(::GetCurrentProcessId());
  std::error_code error;
  for (int number = 0; number < 1000 && !error; ++number) {
    std::filesystem::path folder = parent / (prefix + process + "-" + std::to_string(number));
    if (std::filesystem::create_directory(folder, error)) return folder;
  }
  throw Error(ErrorCode::io, "cannot make a folder in '" + parent.string() + "'");
}

}  // namespace ondine::cli
