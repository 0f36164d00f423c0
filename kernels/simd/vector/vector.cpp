#include "kernels/simd/isa_tables.h"
#include "kernels/simd/vector/map.h"
#include "kernels/simd/vector/reduce.h"
#include "kernels/simd/vector/transcendental.h"
#include "kernels/simd/vector/vector_table.h"

namespace ondine::math::ONDINE_ISA {
namespace {

#define ONDINE_LAMBDA __attribute__((always_inline))

// NaN of either side is kept.
struct Add {
  template <class V>
  static V of(const V& a, const V& b) {
    return a + b;
  }
};
struct Sub {
  template <class V>
  static V of(const V& a, const V& b) {
    return a - b;
  }
};
struct Mul {
  template <class V>
  static V of(const V& a, const V& b) {
    return a * b;
  }
};
struct Div {
  template <class V>
  static V of(const V& a, const V& b) {
    return a / b;
  }
};
struct Max {
  template <class V>
  static V of(const V& a, const V& b) {
    return (a > b) | (a != a) ? a : b;
  }
};
struct Min {
  template <class V>
  static V of(const V& a, const V& b) {
    return (a < b) | (a != a) ? a : b;
  }
};

template <class T, class Op>
constexpr typename VectorKernels<T>::Binary binary = {
    [](T* dst, const T* a, const T* b, std::int64_t n) {
      map(dst, a, b, n, [](const Vec<T>& x, const Vec<T>& y) ONDINE_LAMBDA {
        return Op::template of<Vec<T>>(x, y);
      });
    },
    [](T* dst, const T* a, T b, std::int64_t n) {
      const Vec<T> y = broadcast<T>(b);
      map(dst, a, n, [y](const Vec<T>& x) ONDINE_LAMBDA { return Op::template of<Vec<T>>(x, y); });
    },
    [](T* dst, T a, const T* b, std::int64_t n) {
      const Vec<T> x = broadcast<T>(a);
      map(dst, b, n, [x](const Vec<T>& y) ONDINE_LAMBDA { return Op::template of<Vec<T>>(x, y); });
    },
};

template <class T>
Vec<T> magnitude(const Vec<T>& x) {
  constexpr auto sign = static_cast<typename IntOf<T>::type>(
      std::uint64_t{1} << (8 * sizeof(typename IntOf<T>::type) - 1));
  return from_bits<T>(bits<T>(x) & ~sign);
}

template <class T>
constexpr VectorKernels<T> make() {
  using V = Vec<T>;
  using N = std::int64_t;
  VectorKernels<T> k{};
  k.exp = &exp_row<T>;
  k.log = &log_row<T>;
  k.tanh = &tanh_row<T>;
  k.sigmoid = &sigmoid_row<T>;
  k.erf = &erf_row<T>;
  k.softplus = &softplus_row<T>;
  k.sin = &sin_row<T>;
  k.cos = &cos_row<T>;
  k.gelu = &gelu_row<T>;
  k.gelu_tanh = &gelu_tanh_row<T>;
  k.hard_swish = [](T* dst, const T* src, N n) {
    map(dst, src, n, [](const V& x) ONDINE_LAMBDA {
      const V inner = x <= T{-3} ? V{} : x * (x * T(1.0 / 6) + T(0.5));
      return x >= T{3} ? x : inner;
    });
  };
  k.sqrt = [](T* dst, const T* src, N n) {
    map(dst, src, n, [](const V& x) ONDINE_LAMBDA { return square_root<T>(x); });
  };
  k.reciprocal = [](T* dst, const T* src, N n) {
    map(dst, src, n, [](const V& x) ONDINE_LAMBDA { return T{1} / x; });
  };
  k.neg = [](T* dst, const T* src, N n) {
    map(dst, src, n, [](const V& x) ONDINE_LAMBDA { return -x; });
  };
  k.abs = [](T* dst, const T* src, N n) {
    map(dst, src, n, [](const V& x) ONDINE_LAMBDA { return magnitude<T>(x); });
  };
  k.square = [](T* dst, const T* src, N n) {
    map(dst, src, n, [](const V& x) ONDINE_LAMBDA { return x * x; });
  };
  k.relu = [](T* dst, const T* src, N n) {
    map(dst, src, n, [](const V& x) ONDINE_LAMBDA { return x < V{} ? V{} : x; });
  };
  k.add = binary<T, Add>;
  k.sub = binary<T, Sub>;
  k.mul = binary<T, Mul>;
  k.div = binary<T, Div>;
  k.max = binary<T, Max>;
  k.min = binary<T, Min>;
  k.fill = [](T* dst, T value, N n) {
    const V v = broadcast<T>(value);
    for_vectors<T>(n, [&](auto, auto put) ONDINE_LAMBDA { put(dst, v); });
  };
  k.copy = [](T* dst, const T* src, N n) {
    if (n > 0) __builtin_memmove(dst, src, static_cast<std::size_t>(n) * sizeof(T));
  };
  k.scale = [](T* dst, const T* src, T a, N n) {
    map(dst, src, n, [a](const V& x) ONDINE_LAMBDA { return a * x; });
  };
  k.axpy = [](T* dst, T a, const T* x, N n) {
    map(dst, dst, x, n, [a](const V& y, const V& v) ONDINE_LAMBDA { return y + a * v; });
  };
  k.axpby = [](T* dst, T a, const T* x, T b, N n) {
    map(dst, dst, x, n, [a, b](const V& y, const V& v) ONDINE_LAMBDA { return b * y + a * v; });
  };
  k.multiply_add = [](T* dst, const T* a, const T* b, N n) {
    map(dst, dst, a, b, n,
        [](const V& y, const V& u, const V& v) ONDINE_LAMBDA { return y + u * v; });
  };
  k.affine = [](T* dst, const T* src, T mean, T a, T b, N n) {
    map(dst, src, n, [mean, a, b](const V& x) ONDINE_LAMBDA { return (x - mean) * a + b; });
  };
  k.relu_gradient = [](T* dx, const T* dy, const T* y, N n) {
    map(dx, dy, y, n, [](const V& d, const V& v) ONDINE_LAMBDA { return v > V{} ? d : V{}; });
  };
  k.sigmoid_gradient = [](T* dx, const T* dy, const T* y, N n) {
    map(dx, dy, y, n, [](const V& d, const V& v) ONDINE_LAMBDA { return d * v * (T{1} - v); });
  };
  k.tanh_gradient = [](T* dx, const T* dy, const T* y, N n) {
    map(dx, dy, y, n,
        [](const V& d, const V& v) ONDINE_LAMBDA { return d * (T{1} - v) * (T{1} + v); });
  };
  k.gelu_gradient = &gelu_gradient<T>;
  k.gelu_tanh_gradient = &gelu_tanh_gradient<T>;
  k.gelu_gradient_and_value = &gelu_gradient_and_value<T>;
  k.gelu_tanh_gradient_and_value = &gelu_tanh_gradient_and_value<T>;
  k.hard_swish_gradient = [](T* dx, const T* dy, const T* x, N n) {
    map(dx, dy, x, n, [](const V& d, const V& v) ONDINE_LAMBDA {
      const V inner = v > T{-3} ? d * (v * T(1.0 / 3) + T(0.5)) : V{};
      return v < T{3} ? inner : d;
    });
  };
  k.swish = &swish_row<T>;
  k.swish_gradient = &swish_gradient_row<T>;
  k.sum = [](const T* src, N n) {
    return sum_terms<T>(0, n, [=](N i, auto get) ONDINE_LAMBDA { return get(src + i); });
  };
  k.sum_squares = [](const T* src, N n) {
    return sum_terms<T>(0, n, [=](N i, auto get) ONDINE_LAMBDA {
      const V x = get(src + i);
      return x * x;
    });
  };
  k.sum_abs = [](const T* src, N n) {
    return sum_terms<T>(0, n,
                        [=](N i, auto get) ONDINE_LAMBDA { return magnitude<T>(get(src + i)); });
  };
  k.dot = [](const T* a, const T* b, N n) {
    return sum_terms<T>(0, n, [=](N i, auto get) ONDINE_LAMBDA { return get(a + i) * get(b + i); });
  };
  k.sum_squared_deviation = [](const T* src, T mean, N n) {
    return sum_terms<T>(0, n, [=](N i, auto get) ONDINE_LAMBDA {
      const V x = get(src + i) - mean;
      return x * x;
    });
  };
  k.max_of = [](const T* src, N n) {
    return select_row<T>(src, n, -static_cast<T>(__builtin_inff()),
                         [](const auto& a, const auto& b) ONDINE_LAMBDA { return a > b; });
  };
  k.min_of = [](const T* src, N n) {
    return select_row<T>(src, n, static_cast<T>(__builtin_inff()),
                         [](const auto& a, const auto& b) ONDINE_LAMBDA { return a < b; });
  };
  k.column_sums = [](T* dst, const T* src, N rows, N cols, N ld) {
    sum_columns(dst, rows, cols,
                [=](N i, N j, auto get) ONDINE_LAMBDA { return get(src + i * ld + j); });
  };
  k.add_rows = &add_rows<T, T>;
  return k;
}

}  // namespace

constinit const VectorKernels<float> vector_f32 = make<float>();
constinit const VectorKernels<double> vector_f64 = make<double>();

}  // namespace ondine::math::ONDINE_ISA
