#include "trainer/exec/output_memory.h"

#include <algorithm>
#include <cstring>

#include "core/budget.h"
#include "core/system/pages.h"

namespace ondine::trainer {
namespace {

constexpr std::size_t most_blocks = 16;
constexpr std::size_t most_bytes = std::size_t{64} << 20;
constexpr std::uint64_t most_calls = 4;  // that a block waits for

}  // namespace

OutputMemory::OutputMemory(std::shared_ptr<MemoryBudget> budget) : budget_(std::move(budget)) {
  kept_.reserve(most_blocks);
}

OutputMemory::~OutputMemory() {
  for (const Block& block : kept_) give_back(block);
}

Tensor OutputMemory::copy(const Tensor& from) {
  const std::size_t bytes = from.dtype() == DType::string ? 0 : from.bytes();
  if (!maps_pages(bytes) || bytes > most_bytes) return from.clone();
  void* memory = take(bytes);
  if (memory == nullptr) memory = map_pages(bytes);
  std::shared_ptr<void> owner(
      memory, [pool = shared_from_this(), bytes](void* data) { pool->keep(data, bytes); });
  std::memcpy(memory, from.data(), bytes);
  return Tensor::share(from.dtype(), from.shape(), memory, std::move(owner));
}

void OutputMemory::begin_call() noexcept {
  const std::lock_guard lock(mutex_);
  ++call_;
  std::erase_if(kept_, [&](const Block& block) {
    if (call_ - block.call <= most_calls) return false;
    give_back(block);
    return true;
  });
}

bool OutputMemory::drop() noexcept {
  const std::lock_guard lock(mutex_);
  const bool had = !kept_.empty();
  for (const Block& block : kept_) give_back(block);
  kept_.clear();
  return had;
}

// Blocks are of the size that was asked for: outputs of the same shapes come again.
void* OutputMemory::take(std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::ranges::find_if(kept_, [&](const Block& block) { return block.bytes == bytes; });
  if (found == kept_.end()) return nullptr;
  void* const memory = found->memory;
  kept_bytes_ -= bytes;
  budget_->release(bytes);
  kept_.erase(found);
  return memory;
}

void OutputMemory::keep(void* memory, std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  bool fits = kept_.size() < most_blocks && kept_bytes_ + bytes <= most_bytes &&
              bytes <= (budget_->limit() - budget_->used()) / 4;
  if (fits) {
    try {
      budget_->charge(bytes);
    } catch (...) {  // another call was faster
      fits = false;
    }
  }
  if (!fits) return unmap_pages(memory, bytes);
  kept_bytes_ += bytes;
  kept_.push_back({memory, bytes, call_});
}

void OutputMemory::give_back(const Block& block) noexcept {
  unmap_pages(block.memory, block.bytes);
  kept_bytes_ -= block.bytes;
  budget_->release(block.bytes);
}

}  // namespace ondine::trainer
