// Memory of large results, kept for the next call after the caller let go of it: pages that come
// from the system again cost more than filling them.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <ondine/tensor.h>

namespace ondine {
class MemoryBudget;
}

namespace ondine::trainer {

// Memory of outputs, kept for later calls. Thread-safe. Kept blocks are charged to the budget and
// bounded; a block that no call takes for some calls goes back to the system.
class OutputMemory : public std::enable_shared_from_this<OutputMemory> {
 public:
  explicit OutputMemory(std::shared_ptr<MemoryBudget> budget);
  ~OutputMemory();
  OutputMemory(const OutputMemory&) = delete;
  OutputMemory& operator=(const OutputMemory&) = delete;

  // A copy that owns its elements.
  Tensor copy(const Tensor& from);
  // A call begins.
  void begin_call() noexcept;
  // Gives all kept blocks back; false if there were none.
  bool drop() noexcept;

 private:
  struct Block {
    void* memory;
    std::size_t bytes;
    std::uint64_t call;  // that let go of it
  };

  void* take(std::size_t bytes) noexcept;  // null where nothing fits
  void keep(void* memory, std::size_t bytes) noexcept;
  void give_back(const Block& block) noexcept;

  std::shared_ptr<MemoryBudget> budget_;
  std::mutex mutex_;
  std::vector<Block> kept_;
  std::size_t kept_bytes_ = 0;
  std::uint64_t call_ = 0;
};

}  // namespace ondine::trainer
