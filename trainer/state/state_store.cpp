#include "trainer/state/state_store.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/deferred.h"

namespace ondine::trainer {

StateStore::StateStore(std::vector<Variable> variables)
    : variables_(std::move(variables)), buffers_(variables_.size()), next_(variables_.size()) {
  versions_.push_back(std::make_unique<Version>());
  // The initial values are the first version; they are never written.
  versions_[0]->tensors.reserve(variables_.size());
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    versions_[0]->tensors.push_back(&initial_version(i));
    holds_text_ = holds_text_ || variables_[i].initial.dtype() == DType::string;
  }
  by_name_.resize(variables_.size());
  std::iota(by_name_.begin(), by_name_.end(), std::size_t{0});
  std::stable_sort(by_name_.begin(), by_name_.end(), [&](std::size_t a, std::size_t b) {
    return variables_[a].name < variables_[b].name;
  });
}

std::size_t StateStore::find(std::string_view name) const noexcept {
  const auto found = std::lower_bound(
      by_name_.begin(), by_name_.end(), name,
      [&](std::size_t i, std::string_view wanted) { return variables_[i].name < wanted; });
  const bool known = found != by_name_.end() && variables_[*found].name == name;
  return known ? *found : variables_.size();
}

StateStore::Reader StateStore::read() const {
  const std::lock_guard lock(*mutex_);
  Version& version = *versions_[present_];
  version.readers.fetch_add(1, std::memory_order_relaxed);
  return {version.readers, version.tensors};
}

bool StateStore::in_use(const Tensor& tensor, std::size_t variable) const {
  for (std::size_t v = 0; v < versions_.size(); ++v) {
    const Version& version = *versions_[v];
    const bool live = v == present_ || version.readers.load(std::memory_order_acquire) > 0;
    if (live && version.tensors[variable] == &tensor) return true;
  }
  return false;
}

Tensor& StateStore::initial_version(std::size_t i) {
  Tensor& initial = variables_[i].initial;
  const DeferredElements* deferred = deferred_elements(initial);
  auto own = deferred == nullptr ? nullptr : deferred->again();
  if (own == nullptr) return initial;
  buffers_[i].remove_if(
      [&](const Tensor& buffer) { return &buffer != next_[i] && !in_use(buffer, i); });
  return buffers_[i].emplace_front(Tensor::share(initial.dtype(), initial.shape(), std::move(own)));
}

Tensor* StateStore::free_buffer(std::size_t variable) {
  for (Tensor& buffer : buffers_[variable]) {
    if (!in_use(buffer, variable)) return &buffer;
  }
  return nullptr;
}

Tensor& StateStore::next(std::size_t i) {
  const Tensor& initial = variables_[i].initial;
  if (next_[i] != nullptr && (next_[i] != &initial || initial.size() == 0)) return *next_[i];
  Tensor* buffer = free_buffer(i);
  if (buffer == nullptr) buffer = &buffers_[i].emplace_front(initial.dtype(), initial.shape());
  next_[i] = buffer;
  return *buffer;
}

void StateStore::replace(std::size_t i, Tensor value) {
  Tensor* buffer = free_buffer(i);
  if (buffer == nullptr) buffer = &buffers_[i].emplace_front();
  *buffer = std::move(value);
  next_[i] = buffer;
}

bool StateStore::is_initial(std::size_t i) const {
  return versions_[present_]->tensors[i] == &variables_[i].initial;
}

const Tensor& StateStore::drafted(std::size_t i) const {
  return next_[i] != nullptr ? *next_[i] : *versions_[present_]->tensors[i];
}

Tensor& StateStore::overwrite(std::size_t i) {
  const Version& present = *versions_[present_];
  Tensor* const tensor = present.tensors[i];
  bool free =
      tensor != &variables_[i].initial && present.readers.load(std::memory_order_acquire) <= 1;
  for (std::size_t v = 0; v < versions_.size() && free; ++v) {
    const Version& version = *versions_[v];
    free = v == present_ || version.readers.load(std::memory_order_acquire) == 0 ||
           version.tensors[i] != tensor;
  }
  if (!free) return next(i);
  next_[i] = tensor;
  return *tensor;
}

std::size_t StateStore::free_version() const {
  std::size_t target = 0;
  while (target < versions_.size() &&
         (target == present_ || versions_[target]->readers.load(std::memory_order_acquire) > 0)) {
    ++target;
  }
  return target;
}

void StateStore::provide_version() {
  if (free_version() < versions_.size()) return;
  auto version = std::make_unique<Version>();
  version->tensors.resize(variables_.size());
  const std::lock_guard lock(*mutex_);
  versions_.push_back(std::move(version));
}

StateStore::Hold StateStore::hold_readers() {
  provide_version();
  Hold hold(*mutex_);
  if (versions_[present_]->readers.load(std::memory_order_acquire) > 1) hold.unlock();
  return hold;
}

void StateStore::commit(Hold hold) {
  if (!hold.owns_lock()) provide_version();
  const std::size_t target = free_version();
  Version& version = *versions_[target];
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    version.tensors[i] = next_[i] != nullptr ? next_[i] : versions_[present_]->tensors[i];
  }
  forget_next();
  if (!hold.owns_lock()) hold = Hold(*mutex_);
  present_ = target;
  if (holds_text_) forget_texts();
}

void StateStore::discard() noexcept {
  forget_next();
  if (holds_text_) forget_texts();
}

void StateStore::forget_next() noexcept { std::ranges::fill(next_, nullptr); }

void StateStore::forget_texts() noexcept {
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    if (variables_[i].initial.dtype() != DType::string) continue;
    buffers_[i].remove_if([&](const Tensor& text) { return !in_use(text, i); });
  }
}

void StateStore::reset() {
  for (std::size_t i = 0; i < variables_.size(); ++i) next_[i] = &initial_version(i);
}

}  // namespace ondine::trainer
