// Large zeroed blocks, mapped from the operating system.
#pragma once

#include <cstddef>

namespace ondine {

// Whether blocks of this size come as pages of their own: they go back to the system as soon as
// they are freed, and take no memory before something is written to them.
bool maps_pages(std::size_t bytes) noexcept;

// Zeros, aligned to a page. Throws OutOfMemory when the system has no more.
void* map_pages(std::size_t bytes);
void unmap_pages(void* memory, std::size_t bytes) noexcept;
// Gives the memory back but not the addresses. What they hold then is unspecified: zeros, or what
// was there.
void drop_pages(void* memory, std::size_t bytes) noexcept;

// Gives what was freed and the allocator keeps back to the system, where that is much and the
// allocator can: after work on many small objects, before other work needs large blocks.
void return_freed_memory() noexcept;

}  // namespace ondine
