// Views of elements in memory that say how they are stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <ondine/dtype.h>

namespace ondine::math {

enum class Storage : std::uint8_t {
  plain,  // in the type that computes
  bf16    // in bfloat16
};

template <class T>
constexpr std::int64_t element_bytes(Storage storage) {
  return static_cast<std::int64_t>(storage == Storage::bf16 ? sizeof(std::uint16_t) : sizeof(T));
}

// Elements that are read or written as T, float or double, and stored as T or, of float, as
// bfloat16. Null where an operand is left out. Methods are inlined, since code of every instruction
// set calls them.
template <class T>
class Elements {
  template <class U>
  using SameConst = std::conditional_t<std::is_const_v<T>, const U, U>;

 public:
  using Bits = SameConst<std::uint16_t>;  // of a bfloat16

  [[gnu::always_inline]] Elements() {}                // NOLINT: a defaulted one could be emitted
  [[gnu::always_inline]] Elements(std::nullptr_t) {}  // NOLINT: implicit
  [[gnu::always_inline]] Elements(T* plain) : memory_(plain) {}  // NOLINT
  [[gnu::always_inline]] Elements(Bits* bf16)                    // NOLINT
      : memory_(bf16), storage_(Storage::bf16) {}
  [[gnu::always_inline]] Elements(SameConst<bfloat16>* bf16)  // NOLINT
      : memory_(bf16), storage_(Storage::bf16) {}
  [[gnu::always_inline]] Elements(SameConst<void>* memory, Storage storage)
      : memory_(memory), storage_(storage) {}
  // Elements that are still to be allocated: the call of a product is planned without memory.
  [[gnu::always_inline]] explicit Elements(Storage storage) : storage_(storage) {}
  // Elements that are only read.
  template <class U>
  requires std::is_same_v<T, const U>
  [[gnu::always_inline]] Elements(const Elements<U>& other)  // NOLINT
      : memory_(other.memory()), storage_(other.storage()) {}

  [[gnu::always_inline]] explicit operator bool() const { return memory_ != nullptr; }
  [[gnu::always_inline]] Storage storage() const { return storage_; }
  [[gnu::always_inline]] bool is_bf16() const { return storage_ == Storage::bf16; }
  [[gnu::always_inline]] SameConst<void>* memory() const { return memory_; }

  // The pointer to elements of this storage.
  [[gnu::always_inline]] T* plain() const { return static_cast<T*>(memory_); }
  [[gnu::always_inline]] Bits* bf16() const { return static_cast<Bits*>(memory_); }
  // bfloat16 elements by pairs, each in the place of a T (GemmCall::a_paired).
  [[gnu::always_inline]] T* pairs() const { return static_cast<T*>(memory_); }

  // The elements from number n on.
  [[gnu::always_inline]] Elements operator+(std::int64_t n) const {
    return is_bf16() ? Elements(bf16() + n) : Elements(plain() + n);
  }
  [[gnu::always_inline]] Elements& operator+=(std::int64_t n) { return *this = *this + n; }

 private:
  SameConst<void>* memory_ = nullptr;
  Storage storage_ = Storage::plain;
};

// Parameters that a template does not deduce T from, so that they can be pointers.
template <class T>
using ElementsIn = Elements<const std::type_identity_t<T>>;
template <class T>
using ElementsOut = Elements<std::type_identity_t<T>>;

}  // namespace ondine::math
