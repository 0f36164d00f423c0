// Handles of the C API. They are numbers that are never given twice, so that one that was freed, or
// is none, is found without touching memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace ondine::c {

enum class Kind : std::uint8_t {
  error = 1,
  value,
  values,
  model,
  dataset,
  batches,
  trainer,
  cancel,
  federated_worker,
  generator,
};

// A handle that is reserved before there is something to name, so that nothing can fail afterwards.
// Thread-safe, as everything here.
class NewHandle {
 public:
  NewHandle(Kind kind, std::shared_ptr<void> object);
  ~NewHandle();  // gives it back unless it was released
  NewHandle(const NewHandle&) = delete;
  NewHandle& operator=(const NewHandle&) = delete;
  void* release() noexcept;

 private:
  Kind kind_;
  std::uintptr_t key_;
};

// Throws Error(mismatch) for NULL, a handle that was freed and one of another kind.
std::shared_ptr<void> object_of(const void* handle, Kind kind);
// Null instead.
std::shared_ptr<void> find_object(const void* handle, Kind kind) noexcept;
// Returns the object, so that it goes after the registry is unlocked.
std::shared_ptr<void> close_handle(const void* handle, Kind kind) noexcept;
// Handles that are open.
std::size_t live_handles() noexcept;

// The kind and the object of each handle type, given by ONDINE_HANDLE.
template <class Handle>
struct HandleType;

#define ONDINE_HANDLE(handle, object, kind_name)             \
  template <>                                                \
  struct ondine::c::HandleType<handle> {                     \
    using Object = object;                                   \
    static constexpr auto kind = ondine::c::Kind::kind_name; \
  };

template <class Handle>
using ObjectOf = typename HandleType<Handle>::Object;

template <class Handle>
std::shared_ptr<ObjectOf<Handle>> get(const Handle* handle) {
  return std::static_pointer_cast<ObjectOf<Handle>>(object_of(handle, HandleType<Handle>::kind));
}

template <class Handle>
void close(const Handle* handle) noexcept {
  close_handle(handle, HandleType<Handle>::kind);
}

// A new object and its handle.
template <class Handle>
class New {
 public:
  template <class... Arguments>
  explicit New(Arguments&&... arguments)
      : object_(std::make_shared<ObjectOf<Handle>>(std::forward<Arguments>(arguments)...)),
        handle_(HandleType<Handle>::kind, object_) {}

  ObjectOf<Handle>* operator->() const noexcept { return object_.get(); }
  Handle* release() noexcept { return static_cast<Handle*>(handle_.release()); }

 private:
  std::shared_ptr<ObjectOf<Handle>> object_;
  NewHandle handle_;
};

}  // namespace ondine::c
