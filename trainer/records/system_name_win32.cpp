#include "core/system/windows.h"
#include "trainer/records/system_name.h"

namespace ondine::records {

std::string system_name() {
  // GetVersionEx tells the release only to programs whose manifest names it.
  using GetVersion = LONG(NTAPI*)(RTL_OSVERSIONINFOW*);
  const HMODULE library = ::GetModuleHandleW(L"ntdll.dll");
  if (library == nullptr) return {};
  const auto get_version = reinterpret_cast<GetVersion>(
      reinterpret_cast<void*>(::GetProcAddress(library, "RtlGetVersion")));
  RTL_OSVERSIONINFOW version{};
  version.dwOSVersionInfoSize = sizeof(version);
  if (get_version == nullptr || get_version(&version) != 0) return {};
  return "Windows " + std::to_string(version.dwMajorVersion) + "." +
         std::to_string(version.dwMinorVersion) + "." + std::to_string(version.dwBuildNumber) +
         ", x86_64";
}

}  // namespace ondine::records
