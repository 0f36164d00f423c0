#include "core/secure/ask_system.h"
#include "core/system/windows.h"

// RtlGenRandom, which ntsecapi.h declares with a macro for its name.
extern "C" BOOLEAN NTAPI SystemFunction036(void* buffer, ULONG bytes);

namespace ondine {

bool ask_system(std::span<std::byte> bytes) noexcept {
  return ::SystemFunction036(bytes.data(), static_cast<ULONG>(bytes.size())) != 0;
}

}  // namespace ondine
