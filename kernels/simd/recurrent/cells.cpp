// Cells of recurrent networks, in one pass over their rows.
#include "kernels/simd/isa_tables.h"
#include "kernels/simd/recurrent/lstm_step.h"

namespace ondine::math::ONDINE_ISA {
namespace {

#define ONDINE_LAMBDA __attribute__((always_inline))
using N = std::int64_t;

// As for_vectors, for groups of vectors: f(get, put, group_size), where get and put also take the
// index of the vector in the group and group_size is an integral constant.
template <class T, class F>
ONDINE_INLINE void for_groups(N n, F&& f) {
  constexpr int L = lanes<T>;
  N i = 0;
  for (; i + vectors_in_flight<T> * L <= n; i += vectors_in_flight<T> * L) {
    f([i](const T* p, int v) ONDINE_LAMBDA { return load(p + i + v * L); },
      [i](T* p, int v, const Vec<T>& x) ONDINE_LAMBDA { store(p + i + v * L, x); },
      std::integral_constant<int, vectors_in_flight<T>>());
  }
  for (; i < n; i += L) {
    const N left = n - i < L ? n - i : L;
    f([i, left](const T* p, int) ONDINE_LAMBDA { return load_n(p + i, left); },
      [i, left](T* p, int, const Vec<T>& x) ONDINE_LAMBDA { store_n(p + i, x, left); },
      std::integral_constant<int, 1>());
  }
}

template <class T>
void lstm(T* z, T* c, T* h, N n) {
  for_groups<T>(n, [=](auto get, auto put, auto group_size) ONDINE_LAMBDA {
    constexpr int count = decltype(group_size)::value;
    Vec<T> gate[4][count], cell[count];
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      times<count>([&](int v) ONDINE_LAMBDA { gate[k][v] = get(z + k * n, v); });
      k == 3 ? tanh_in_place(gate[k]) : sigmoid_in_place(gate[k]);
      times<count>([&](int v) ONDINE_LAMBDA { put(z + k * n, v, gate[k][v]); });
    }
    times<count>([&](int v) ONDINE_LAMBDA {
      cell[v] = gate[2][v] * get(c, v) + rounded<T>(gate[0][v] * gate[3][v]);
      put(c, v, cell[v]);
    });
    tanh_in_place(cell);
    times<count>([&](int v) ONDINE_LAMBDA { put(h, v, gate[1][v] * cell[v]); });
  });
}

template <class T>
ONDINE_INLINE void prefetch_row(const T* row, N n) {
  constexpr N line = 64 / N{sizeof(T)};
  for (N i = 0; row != nullptr && i < n; i += line) __builtin_prefetch(row + i, 0, 2);
}

template <class T>
void lstm_gradient(const LstmGradient<T>& s) {
  const N n = s.n;
  prefetch_row(s.next_z, 4 * n);
  prefetch_row(s.next_old, n);
  prefetch_row(s.next_dy, n);
  const bool has_dy = s.dy != nullptr;
  for_groups<T>(n, [=](auto get, auto put, auto group_size) ONDINE_LAMBDA {
    constexpr int count = decltype(group_size)::value;
    Vec<T> tanh_c[count];
    times<count>([&](int v) ONDINE_LAMBDA { tanh_c[v] = get(s.c, v); });
    tanh_in_place(tanh_c);
    times<count>([&](int v) ONDINE_LAMBDA {
      const Vec<T> by_h = has_dy ? get(s.dh, v) + get(s.dy, v) : get(s.dh, v);
      const Vec<T> in = get(s.z, v);
      const Vec<T> out = get(s.z + n, v);
      const Vec<T> forget = get(s.z + 2 * n, v);
      const Vec<T> cell_gate = get(s.z + 3 * n, v);
      put(s.dz + n, v, by_h * tanh_c[v] * out * (T{1} - out));
      const Vec<T> by_c = get(s.dc, v) + by_h * out * (T{1} - tanh_c[v] * tanh_c[v]);
      put(s.dz, v, by_c * cell_gate * in * (T{1} - in));
      put(s.dz + 3 * n, v, by_c * in * (T{1} - cell_gate * cell_gate));
      put(s.dz + 2 * n, v, by_c * get(s.old, v) * forget * (T{1} - forget));
      put(s.dc, v, by_c * forget);
    });
  });
}

}  // namespace

constinit const CellKernels<float> cells_f32 = {&lstm<float>, &lstm_gradient<float>,
                                                &packed_lstm_elements<float>, &pack_lstm<float>,
                                                &lstm_step<float>};
constinit const CellKernels<double> cells_f64 = {&lstm<double>, &lstm_gradient<double>,
                                                 &packed_lstm_elements<double>, &pack_lstm<double>,
                                                 &lstm_step<double>};

}  // namespace ondine::math::ONDINE_ISA
