// Checks of views (kernels/simd/elements.h), and code for either type that they store.
#pragma once

#include <bit>

#include "core/message.h"
#include "kernels/simd/elements.h"

namespace ondine::math {

// Error(internal) where an operand is not stored as the descriptor says that planned for it.
template <class T>
void require_stored(const Elements<T>& elements, Storage planned) {
  if (!elements || elements.storage() == planned) return;
  fail(ErrorCode::internal, "an operand is stored in ", elements.is_bf16() ? "bfloat16" : "full",
       " where its kernel was planned for ", planned == Storage::bf16 ? "bfloat16" : "full",
       " elements");
}

// body.template operator()<X>() with the type of stored elements: T, or bfloat16 by its bits.
template <class T, class Body>
decltype(auto) visit_elements(Storage storage, Body&& body) {
  if constexpr (sizeof(T) == sizeof(float)) {
    if (storage == Storage::bf16) return body.template operator()<std::uint16_t>();
  }
  return body.template operator()<T>();
}

// Elements that are stored as X, a type of visit_elements. Errors as of require_stored.
template <class X, class T>
const X* elements_of(const Elements<const T>& elements) {
  constexpr Storage storage = sizeof(X) < sizeof(float) ? Storage::bf16 : Storage::plain;
  require_stored(elements, storage);
  return static_cast<const X*>(elements.memory());
}

template <class T>
T widened(T x) {
  return x;
}
inline float widened(std::uint16_t x) { return std::bit_cast<float>(std::uint32_t{x} << 16); }

}  // namespace ondine::math
