// Processes, or threads, that train one model together (docs/cluster.md).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ondine/export.h>

namespace ondine {

// One rank's view of all `size()` ranks. Every function but rank(), size(), describe() and abort()
// is called by all ranks, in the same order and with the same sizes, and returns when its result is
// there. One thread of a rank calls at a time. Throws Error(io) when a rank is lost.
class ONDINE_API Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  virtual std::size_t rank() const noexcept = 0;
  virtual std::size_t size() const noexcept = 0;
  // "Open MPI v4.1.4", for people.
  virtual std::string describe() const = 0;

  // Takes size() times as many bytes as a rank gives, in the order of the ranks.
  virtual void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
  // Both spans are size() parts of equal size: part i goes to rank i and comes from rank i.
  virtual void all_to_all(std::span<const std::byte> parts, std::span<std::byte> received) = 0;
  virtual void broadcast(std::span<std::byte> bytes, std::size_t from) = 0;
  // Sums over the ranks, the same bits in each. The order of the additions may depend on the number
  // of ranks.
  virtual void add(std::span<float> values) = 0;
  virtual void add(std::span<double> values) = 0;
  virtual void barrier() = 0;
  // Ends all ranks, for failures that leave them in different places.
  virtual void abort() noexcept = 0;
};

// The ranks that mpirun started, of which this process is one: by the MPI library of that mpirun,
// Open MPI or MPICH. nullptr in other processes. The same object for every call. Throws
// Error(unsupported) where the build or the machine lacks what that MPI needs.
ONDINE_API std::shared_ptr<Communicator> mpi_communicator();

// Ranks that are threads of this process, one object for each; each is used by one thread. A
// barrier and all else waits for all of them; abort() makes the others throw Error(io).
ONDINE_API std::vector<std::shared_ptr<Communicator>> thread_communicators(std::size_t size);

// Runs `work` on every rank; returns when it has succeeded on all of them. Else all throw the error
// of the lowest rank that failed, and the message names that rank unless all failed alike. `work`
// may hold agreements itself: what a rank throws between them reaches the others in their next one,
// so that none waits for it. Other calls of the communicator must follow an agreement directly.
ONDINE_API void agree(Communicator& ranks, const std::function<void()>& work);

}  // namespace ondine
