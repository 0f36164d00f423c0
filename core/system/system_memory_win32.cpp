#include <algorithm>

#include "core/system/system_memory.h"
#include "core/system/windows.h"

namespace ondine {
namespace {

// The least limit of the job that the process runs in.
std::uint64_t least_of_job(std::uint64_t bytes) noexcept {
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION job{};
  if (!::QueryInformationJobObject(nullptr, JobObjectExtendedLimitInformation, &job, sizeof(job),
                                   nullptr)) {
    return bytes;
  }
  const DWORD flags = job.BasicLimitInformation.LimitFlags;
  if ((flags & JOB_OBJECT_LIMIT_PROCESS_MEMORY) != 0) {
    bytes = std::min<std::uint64_t>(bytes, job.ProcessMemoryLimit);
  }
  if ((flags & JOB_OBJECT_LIMIT_JOB_MEMORY) != 0) {
    bytes = std::min<std::uint64_t>(bytes, job.JobMemoryLimit);
  }
  return bytes;
}

}  // namespace

std::uint64_t system_memory_bytes() noexcept {
  MEMORYSTATUSEX machine{};
  machine.dwLength = sizeof(machine);
  return ::GlobalMemoryStatusEx(&machine) ? least_of_job(machine.ullTotalPhys) : 0;
}

}  // namespace ondine
