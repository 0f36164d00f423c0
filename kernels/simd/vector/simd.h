// Vectors of the instruction set that this file is compiled for, by compiler extensions. Everything
// in this folder lives in namespace ONDINE_ISA and uses no function of the standard library that is
// compiled here too: the linker keeps one copy of such a function, perhaps one that the processor
// cannot run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

#define ONDINE_INLINE static inline __attribute__((always_inline))
#define ONDINE_MEMBER inline __attribute__((always_inline))

namespace ondine::math::ONDINE_ISA {

#if defined(__AVX512F__)
inline constexpr int vector_bytes = 64;
#elif defined(__AVX2__)
inline constexpr int vector_bytes = 32;
#else
inline constexpr int vector_bytes = 16;
#endif

template <class T>
inline constexpr int lanes = vector_bytes / static_cast<int>(sizeof(T));

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(vector_bytes)));
};
template <class T>
using Vec = typename VectorOf<T>::type;

template <class T>
struct IntOf {
  using type = std::int32_t;
};
template <>
struct IntOf<double> {
  using type = std::int64_t;
};
template <class T>
using IVec = Vec<typename IntOf<T>::type>;

template <class T>
ONDINE_INLINE Vec<T> load(const T* p) {
  Vec<T> v;
  __builtin_memcpy(&v, p, sizeof(v));
  return v;
}

// Half a vector from each.
template <class T>
ONDINE_INLINE Vec<T> load_halves(const T* low, const T* high) {
#if defined(__AVX512F__)
  const __m512d v = _mm512_castpd256_pd512(_mm256_loadu_pd(reinterpret_cast<const double*>(low)));
  const __m256d w = _mm256_loadu_pd(reinterpret_cast<const double*>(high));
  return reinterpret_cast<Vec<T>>(_mm512_mask_broadcast_f64x4(v, 0xf0, w));
#elif defined(__AVX2__)
  const __m256d v = _mm256_castpd128_pd256(_mm_loadu_pd(reinterpret_cast<const double*>(low)));
  return reinterpret_cast<Vec<T>>(
      _mm256_insertf128_pd(v, _mm_loadu_pd(reinterpret_cast<const double*>(high)), 1));
#else
  Vec<T> v;
  __builtin_memcpy(&v, low, sizeof(v) / 2);
  __builtin_memcpy(reinterpret_cast<char*>(&v) + sizeof(v) / 2, high, sizeof(v) / 2);
  return v;
#endif
}

// A store of type T rather than a copy of bytes: the compiler knows that it changes no field of a
// descriptor and keeps those in registers.
template <class T>
ONDINE_INLINE void store(T* p, const Vec<T>& v) {
  typedef T Placed __attribute__((vector_size(vector_bytes), aligned(alignof(T))));
  *reinterpret_cast<Placed*>(p) = v;
}

template <class T>
ONDINE_INLINE Vec<T> broadcast(T s) {
  return s - Vec<T>{};  // not +: -0 + 0 is 0
}

#if !defined(__AVX2__)
static_assert(lanes<float> == 4);

// The first two of four lanes. Parts of a vector are moved by such constant parts: lanes whose
// number is known only at run time go through memory, in calls of memcpy.
template <class T>
struct HalfOf {
  typedef T type __attribute__((vector_size(2 * sizeof(T))));
};
template <class T>
using Half = typename HalfOf<T>::type;

template <class T>
ONDINE_INLINE Half<T> load_half(const T* p) {
  Half<T> v;
  __builtin_memcpy(&v, p, sizeof(v));
  return v;
}
template <class T>
ONDINE_INLINE Vec<T> widen(const Half<T>& low) {
  return __builtin_shufflevector(low, Half<T>{}, 0, 1, 2, 3);
}
#endif

// The first n lanes, 0 <= n <= lanes; the others are 0.
template <class T>
ONDINE_INLINE Vec<T> load_n(const T* p, std::int64_t n) {
#if defined(__AVX512F__)
  const auto mask = static_cast<unsigned>((1u << n) - 1u);
  if constexpr (sizeof(T) == 4) {
    return reinterpret_cast<Vec<T>>(_mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), p));
  } else {
    return reinterpret_cast<Vec<T>>(_mm512_maskz_loadu_pd(static_cast<__mmask8>(mask), p));
  }
#elif defined(__AVX2__)
  if constexpr (sizeof(T) == 4) {
    const auto mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)),
                                         _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    return reinterpret_cast<Vec<T>>(_mm256_maskload_ps(p, mask));
  } else {
    const auto mask = _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
    return reinterpret_cast<Vec<T>>(_mm256_maskload_pd(p, mask));
  }
#else
  if (n >= lanes<T>) return load(p);
  Vec<T> v{};
  if constexpr (lanes<T> == 2) {
    if (n == 1) v[0] = p[0];
  } else {
    if (n & 2) {
      v = widen<T>(load_half(p));
      if (n & 1) v[2] = p[2];
    } else if (n & 1) {
      v[0] = p[0];
    }
  }
  return v;
#endif
}

template <class T>
ONDINE_INLINE void store_n(T* p, const Vec<T>& v, std::int64_t n) {
#if defined(__AVX512F__)
  const auto mask = static_cast<unsigned>((1u << n) - 1u);
  if constexpr (sizeof(T) == 4) {
    _mm512_mask_storeu_ps(p, static_cast<__mmask16>(mask), reinterpret_cast<__m512>(v));
  } else {
    _mm512_mask_storeu_pd(p, static_cast<__mmask8>(mask), reinterpret_cast<__m512d>(v));
  }
#elif defined(__AVX2__)
  // Stores parts: stores with masks are slow on some processors, lanes one by one on all.
  if (n >= lanes<T>) return store(p, v);
  if constexpr (sizeof(T) == 4) {
    __m128 part = _mm256_castps256_ps128(reinterpret_cast<__m256>(v));
    if (n & 4) {
      _mm_storeu_ps(p, part);
      part = _mm256_extractf128_ps(reinterpret_cast<__m256>(v), 1);
      p += 4;
    }
    if (n & 2) {
      _mm_storel_pi(reinterpret_cast<__m64*>(p), part);
      part = _mm_movehl_ps(part, part);
      p += 2;
    }
    if (n & 1) _mm_store_ss(p, part);
  } else {
    __m128d part = _mm256_castpd256_pd128(reinterpret_cast<__m256d>(v));
    if (n & 2) {
      _mm_storeu_pd(p, part);
      part = _mm256_extractf128_pd(reinterpret_cast<__m256d>(v), 1);
      p += 2;
    }
    if (n & 1) _mm_store_sd(p, part);
  }
#else
  if (n >= lanes<T>) return store(p, v);
  if constexpr (lanes<T> == 2) {
    if (n == 1) p[0] = v[0];
  } else {
    if (n & 2) {
      const Half<T> low = __builtin_shufflevector(v, v, 0, 1);
      __builtin_memcpy(p, &low, sizeof(low));
      if (n & 1) p[2] = v[2];
    } else if (n & 1) {
      p[0] = v[0];
    }
  }
#endif
}

template <class T>
ONDINE_INLINE IVec<T> bits(const Vec<T>& v) {
  return reinterpret_cast<IVec<T>>(v);
}
template <class T>
ONDINE_INLINE Vec<T> from_bits(const IVec<T>& v) {
  return reinterpret_cast<Vec<T>>(v);
}

template <class T>
ONDINE_INLINE Vec<T> square_root(const Vec<T>& v) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    return reinterpret_cast<Vec<T>>(_mm512_maskz_sqrt_ps(0xffff, reinterpret_cast<__m512>(v)));
  } else {
    return reinterpret_cast<Vec<T>>(_mm512_maskz_sqrt_pd(0xff, reinterpret_cast<__m512d>(v)));
  }
#elif defined(__AVX2__)
  if constexpr (sizeof(T) == 4) {
    return reinterpret_cast<Vec<T>>(_mm256_sqrt_ps(reinterpret_cast<__m256>(v)));
  } else {
    return reinterpret_cast<Vec<T>>(_mm256_sqrt_pd(reinterpret_cast<__m256d>(v)));
  }
#elif defined(__SSE2__)
  if constexpr (sizeof(T) == 4) {
    return reinterpret_cast<Vec<T>>(_mm_sqrt_ps(reinterpret_cast<__m128>(v)));
  } else {
    return reinterpret_cast<Vec<T>>(_mm_sqrt_pd(reinterpret_cast<__m128d>(v)));
  }
#else
  Vec<T> r{};
  for (int i = 0; i < lanes<T>; ++i) {
    if constexpr (sizeof(T) == 4) {
      r[i] = __builtin_sqrtf(v[i]);
    } else {
      r[i] = __builtin_sqrt(v[i]);
    }
  }
  return r;
#endif
}

template <class T, int By, int... I>
ONDINE_INLINE Vec<T> rotate_lanes(const Vec<T>& v, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(v, v, ((I + By) % lanes<T>)...);
}

// The lanes joined by halves; join(a, b) of vectors.
template <class T, int Half = lanes<T> / 2, class Join>
ONDINE_INLINE T join_lanes(const Vec<T>& v, Join&& join) {
  if constexpr (Half == 0) {
    return v[0];
  } else {
    constexpr auto every = std::make_integer_sequence<int, lanes<T>>();
    return join_lanes<T, Half / 2>(join(v, rotate_lanes<T, Half>(v, every)), join);
  }
}
template <class T>
ONDINE_INLINE T lane_sum(const Vec<T>& v) {
  return join_lanes<T>(
      v, [](const Vec<T>& a, const Vec<T>& b) __attribute__((always_inline)) { return a + b; });
}

// One stage of the transposition: rows i and i + D exchange the lanes where bit D differs.
template <class T, int D, int... I>
ONDINE_INLINE void exchange(Vec<T>& a, Vec<T>& b, std::integer_sequence<int, I...>) {
  const Vec<T> low = __builtin_shufflevector(a, b, ((I & D) ? lanes<T> + I - D : I)...);
  const Vec<T> high = __builtin_shufflevector(a, b, ((I & D) ? lanes<T> + I : I + D)...);
  a = low;
  b = high;
}

// r[i][j] <-> r[j][i]
template <class T, int D = lanes<T> / 2>
ONDINE_INLINE void transpose(Vec<T>* r) {
  if constexpr (D > 0) {
#pragma GCC unroll 16
    for (int i = 0; i < lanes<T>; ++i) {
      if ((i & D) == 0) {
        exchange<T, D>(r[i], r[i + D], std::make_integer_sequence<int, lanes<T>>());
      }
    }
    transpose<T, D / 2>(r);
  }
}

}  // namespace ondine::math::ONDINE_ISA
