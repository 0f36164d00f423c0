#include "core/deferred.h"

#include <utility>

#include "core/system/pages.h"

namespace ondine {

DeferredElements::DeferredElements(std::size_t bytes, Compute compute,
                                   std::optional<PackedElements> packed,
                                   std::span<const std::byte> source)
    : memory_(map_pages(bytes)),
      bytes_(bytes),
      compute_(std::move(compute)),
      packed_(std::move(packed)),
      source_(source) {}

DeferredElements::~DeferredElements() { unmap_pages(memory_, bytes_); }

void DeferredElements::compute() noexcept {
  if (computed_) return;
  const std::lock_guard lock(mutex_);
  if (computed_) return;
  if (holders_ == 0) compute_({static_cast<std::byte*>(memory_), bytes_});
  compute_ = nullptr;
  computed_ = true;
}

void DeferredElements::hold() const noexcept {
  const std::lock_guard lock(mutex_);
  if (holders_++ == 0 && !computed_) compute_({static_cast<std::byte*>(memory_), bytes_});
}

void DeferredElements::drop() const noexcept {
  const std::lock_guard lock(mutex_);
  if (--holders_ == 0 && !computed_) drop_pages(memory_, bytes_);
}

std::optional<PackedElements> DeferredElements::packed() const {
  return computed_ ? std::nullopt : packed_;
}

std::shared_ptr<DeferredElements> DeferredElements::again() const {
  const std::lock_guard lock(mutex_);
  return computed_ ? nullptr
                   : std::make_shared<DeferredElements>(bytes_, compute_, packed_, source_);
}

HeldElements::HeldElements(const Tensor& tensor) noexcept
    : deferred_(deferred_elements(tensor)),
      data_(deferred_ != nullptr ? deferred_->memory() : tensor.data()) {
  if (deferred_ != nullptr) deferred_->hold();
}

HeldElements::~HeldElements() {
  if (deferred_ != nullptr) deferred_->drop();
}

}  // namespace ondine
