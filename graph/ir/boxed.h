// A member that few objects set.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace ondine::graph {

// A T as large as a pointer while nobody sets it, which reads as T(). An empty value does not set
// it. Copies are deep; one that was moved from reads as T(). References from before an assignment
// or edit() of a box that was not set become stale.
template <class T>
class Boxed {
 public:
  Boxed() = default;
  template <class U = T>
  requires(!std::is_same_v<std::remove_cvref_t<U>, Boxed> && std::is_convertible_v<U, T>)
      Boxed(U&& from) {  // NOLINT: implicit, as the conversion to T
    T value(std::forward<U>(from));
    if constexpr (requires { value.empty(); }) {
      if (value.empty()) return;
    }
    if constexpr (requires { value.has_value(); }) {
      if (!value.has_value()) return;
    }
    value_ = std::make_unique<T>(std::move(value));
  }
  Boxed(const Boxed& other) : value_(other.value_ ? std::make_unique<T>(*other.value_) : nullptr) {}
  Boxed(Boxed&&) noexcept = default;
  Boxed& operator=(Boxed other) noexcept {
    value_.swap(other.value_);
    return *this;
  }
  ~Boxed() = default;

  const T& operator*() const noexcept { return value_ ? *value_ : unset(); }
  const T* operator->() const noexcept { return &**this; }
  operator const T&() const noexcept { return **this; }  // NOLINT: implicit
  // nullptr while nobody set it.
  const T* get() const noexcept { return value_.get(); }
  explicit operator bool() const noexcept { return value_ != nullptr; }
  // The value, to change it.
  T& edit() {
    if (!value_) value_ = std::make_unique<T>();
    return *value_;
  }

 private:
  static const T& unset() noexcept {
    static const T none{};
    return none;
  }

  std::unique_ptr<T> value_;
};

}  // namespace ondine::graph
