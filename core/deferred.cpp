#include "core/deferred.h"

#include <utility>

#include "core/pages.h"

namespace ondine {

DeferredElements::DeferredElements(std::size_t bytes, Compute compute,
                                   std::optional<PackedElements> packed)
    : memory_(map_pages(bytes)),
      bytes_(bytes),
      compute_(std::move(compute)),
      packed_(std::move(packed)) {}

DeferredElements::~DeferredElements() { unmap_pages(memory_, bytes_); }

void DeferredElements::compute() noexcept {
  std::call_once(once_, [&] {
    compute_({static_cast<std::byte*>(memory_), bytes_});
    compute_ = nullptr;
    computed_ = true;
  });
}

std::optional<PackedElements> DeferredElements::packed() const {
  return computed_ ? std::nullopt : packed_;
}

}  // namespace ondine
