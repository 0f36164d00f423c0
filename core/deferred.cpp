#include "core/deferred.h"

#include <utility>

#include "core/pages.h"

namespace ondine {

DeferredElements::DeferredElements(std::size_t bytes, Compute compute)
    : memory_(map_pages(bytes)), bytes_(bytes), compute_(std::move(compute)) {}

DeferredElements::~DeferredElements() { unmap_pages(memory_, bytes_); }

void DeferredElements::compute() noexcept {
  std::call_once(once_, [&] {
    compute_({static_cast<std::byte*>(memory_), bytes_});
    compute_ = nullptr;
  });
}

}  // namespace ondine
