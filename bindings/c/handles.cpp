#include "bindings/c/handles.h"

#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include <ondine/error.h>

namespace ondine::c {
namespace {

const char* name_of(Kind kind) noexcept {
  switch (kind) {
    case Kind::error:
      return "error";
    case Kind::value:
      return "value";
    case Kind::values:
      return "list of values";
    case Kind::model:
      return "model";
    case Kind::dataset:
      return "data set";
    case Kind::batches:
      return "range of batches";
    case Kind::trainer:
      return "trainer";
    case Kind::cancel:
      return "cancel flag";
    case Kind::federated_worker:
      return "worker of a federation";
    case Kind::generator:
      return "generator";
  }
  return "object";
}

struct Registry {
  mutable std::shared_mutex mutex;
  std::unordered_map<std::uintptr_t, std::shared_ptr<void>> objects;
  std::uintptr_t last = 0;
};

// Lives as long as the process: other threads may call while it ends.
Registry& registry() {
  static auto* const made = new Registry;
  return *made;
}

// The kind is the low bits of a key.
constexpr unsigned kind_bits = 4;

Kind kind_of(std::uintptr_t key) noexcept {
  return static_cast<Kind>(key & ((1U << kind_bits) - 1));
}

std::uintptr_t key_of(const void* handle) noexcept {
  return reinterpret_cast<std::uintptr_t>(handle);  // NOLINT
}

std::shared_ptr<void> find_key(std::uintptr_t key) {
  const Registry& all = registry();
  const std::shared_lock lock(all.mutex);
  const auto found = all.objects.find(key);
  return found == all.objects.end() ? nullptr : found->second;
}

}  // namespace

NewHandle::NewHandle(Kind kind, std::shared_ptr<void> object) : kind_(kind), key_(0) {
  Registry& all = registry();
  const std::unique_lock lock(all.mutex);
  do {
    key_ = ++all.last << kind_bits | static_cast<std::uintptr_t>(kind);
    // Where pointers have 32 bits the numbers begin anew after 2^28 handles; none of them is 0.
  } while (key_ >> kind_bits == 0 || all.objects.contains(key_));
  all.objects.emplace(key_, std::move(object));
}

NewHandle::~NewHandle() {
  if (key_ != 0) close_handle(reinterpret_cast<void*>(key_), kind_);  // NOLINT
}

void* NewHandle::release() noexcept {
  return reinterpret_cast<void*>(std::exchange(key_, 0));  // NOLINT
}

std::shared_ptr<void> object_of(const void* handle, Kind kind) {
  const std::string name = name_of(kind);
  if (handle == nullptr) throw Error(ErrorCode::mismatch, "the " + name + " is NULL");
  const std::uintptr_t key = key_of(handle);
  std::shared_ptr<void> object = find_key(key);
  if (object == nullptr) {
    throw Error(ErrorCode::mismatch, "the " + name + " was freed, or its handle is none");
  }
  if (kind_of(key) != kind) {
    throw Error(ErrorCode::mismatch,
                "a " + name + " is needed, the handle is that of a " + name_of(kind_of(key)));
  }
  return object;
}

std::shared_ptr<void> find_object(const void* handle, Kind kind) noexcept {
  const std::uintptr_t key = key_of(handle);
  return kind_of(key) == kind ? find_key(key) : nullptr;
}

std::shared_ptr<void> close_handle(const void* handle, Kind kind) noexcept {
  const std::uintptr_t key = key_of(handle);
  if (kind_of(key) != kind) return nullptr;
  Registry& all = registry();
  const std::unique_lock lock(all.mutex);
  const auto found = all.objects.find(key);
  if (found == all.objects.end()) return nullptr;
  std::shared_ptr<void> object = std::move(found->second);
  all.objects.erase(found);
  return object;
}

std::size_t live_handles() noexcept {
  const Registry& all = registry();
  const std::shared_lock lock(all.mutex);
  return all.objects.size();
}

}  // namespace ondine::c
