// Constants that a call reads from their files in turns, where not all of them fit into memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/deferred.h"
#include "graph/ir/graph.h"
#include "proto/mapped_file.h"

namespace ondine::trainer {

struct Plan;

// Large elements in a mapped file: read there, or copied from there when they are needed.
struct StreamedConstant {
  std::shared_ptr<const MappedFile> file;
  std::span<const std::byte> stored;  // in the file
  // Copy of the elements of `tensor`; null if the constant is read in the file.
  const DeferredElements* copy = nullptr;
  Tensor tensor = {};                  // keeps the elements
  std::vector<std::uint32_t> readers;  // nodes of the plan, ascending; not empty

  std::uint64_t bytes() const noexcept { return copy != nullptr ? copy->bytes() : stored.size(); }
};

// Event that happens to a constant before a node runs.
struct StreamEvent {
  enum class Kind : std::uint8_t { drop, announce, hold };
  std::uint32_t node = 0;
  std::uint32_t constant = 0;
  Kind kind = Kind::drop;
};

struct Streaming {
  std::vector<StreamedConstant> constants;
  std::vector<StreamEvent> events;   // by node; up to the one after the last
  std::uint64_t resident_bytes = 0;  // of the constants, at most at any time
};

// The constants of the plan that can be streamed. Constants of less than 64 kB cannot.
std::vector<StreamedConstant> find_streamed(
    const Plan& plan, std::span<const std::shared_ptr<const MappedFile>> files);

std::uint64_t bytes_of(std::span<const StreamedConstant> constants) noexcept;
// Bytes of the constants of the node that reads most bytes of them.
std::uint64_t least_bytes(std::span<const StreamedConstant> constants, std::size_t nodes);

// Holds constants from the first to the last node that reads them as long as `room` bytes hold all,
// and else drops the one that is read again last. `room` is at least least_bytes.
Streaming stream(std::vector<StreamedConstant> constants, std::size_t nodes, std::uint64_t room);

}  // namespace ondine::trainer
