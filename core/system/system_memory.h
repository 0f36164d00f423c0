// How much memory the process may use.
#pragma once

#include <cstdint>

namespace ondine {

// The least memory limit of the control groups that the file `groups` (/proc/self/cgroup) names,
// and of those around them, below the folder `root` (/sys/fs/cgroup), in version 2 or 1 of their
// interface; UINT64_MAX without a limit.
std::uint64_t control_group_bytes(const char* groups, const char* root) noexcept;

// Memory of the machine or of its control group, whichever is less; 0 if unknown. Does not
// allocate.
std::uint64_t system_memory_bytes() noexcept;

}  // namespace ondine
