// Vectors that the compiler may not compute in another way.
#pragma once

#include "kernels/simd/vector/simd.h"

namespace ondine::math::ONDINE_ISA {

// Returns `v`. The compiler knows no more of the result than that it is in a register.
template <class V>
ONDINE_INLINE V in_register(V v) {
#if defined(__AVX512F__)
  asm("" : "+v"(v));
#elif defined(__x86_64__)
  asm("" : "+x"(v));
#elif defined(__aarch64__)
  asm("" : "+w"(v));
#endif
  return v;
}

// A factor of several products: the compiler would read it from memory for each of them.
template <class T>
ONDINE_INLINE Vec<T> load_once(const T* p) {
  return in_register(load(p));
}

}  // namespace ondine::math::ONDINE_ISA
