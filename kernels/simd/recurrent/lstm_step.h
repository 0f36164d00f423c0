// One step of an LSTM: both matrix products and the cells in one pass over packed weights. A panel
// holds two gates, i and g or o and f, of as many hidden values as a vector has lanes: a row of
// biases, the rows of W and the rows of R.
#pragma once

#include "kernels/simd/recurrent/cell_table.h"
#include "kernels/simd/recurrent/gates.h"
#include "kernels/simd/vector/machine.h"

namespace ondine::math::ONDINE_ISA {

inline constexpr int step_rows = BlockSizes{8, 6, 8, 4}.of_machine();

inline constexpr int panel_gates[2][2] = {{0, 3}, {1, 2}};

template <class T>
static std::int64_t step_panel(std::int64_t input, std::int64_t hidden) {
  return (1 + input + hidden) * 2 * lanes<T>;
}

template <class T>
static std::int64_t packed_lstm_elements(std::int64_t input, std::int64_t hidden) {
  return (hidden + lanes<T> - 1) / lanes<T> * 2 * step_panel<T>(input, hidden);
}

// dst[p 2 L + r] = src[r k + p], r < count; rows from there on are zeros.
template <class T>
static void pack_transposed_gate(T* dst, const T* src, std::int64_t k, std::int64_t count) {
  constexpr int L = lanes<T>;
  for (std::int64_t p = 0; p < k; p += L) {
    const std::int64_t cols = k - p < L ? k - p : L;
    Vec<T> block[L];
    for (int i = 0; i < L; ++i) {
      block[i] = i < count ? load_n(src + i * k + p, cols) : Vec<T>{};
    }
    transpose<T>(block);
    for (std::int64_t i = 0; i < cols; ++i) store(dst + (p + i) * 2 * L, block[i]);
  }
}

template <class T>
static void pack_lstm(std::int64_t input, std::int64_t hidden, const T* w, const T* r,
                      const T* bias, T* packed) {
  constexpr int L = lanes<T>;
  for (std::int64_t j = 0; j < hidden; j += L) {
    const std::int64_t count = hidden - j < L ? hidden - j : L;
    for (const auto& pair : panel_gates) {
      for (int v = 0; v < 2; ++v) {
        const std::int64_t row = pair[v] * hidden + j;
        store(packed + v * L, bias ? load_n(bias + row, count) : Vec<T>{});
        pack_transposed_gate(packed + (2 + v) * L, w + row * input, input, count);
        pack_transposed_gate(packed + (2 + 2 * input + v) * L, r + row * hidden, hidden, count);
      }
      packed += step_panel<T>(input, hidden);
    }
  }
}

// Pre-activations of two gates of `rows` samples: [rows][2][lanes].
template <class T>
struct GateInputs {
  const T* values;
  std::int64_t first, rows;  // samples of the step
  std::int64_t j, count;     // hidden values
};

// Calls f(sample, get, put, group_size) for groups of samples; get(p) and put(p, v) access `count`
// elements, group_size is an integral constant.
template <class T, class F>
ONDINE_INLINE void for_samples(const GateInputs<T>& in, F&& f) {
  const auto get = [](const T* p) __attribute__((always_inline)) { return load(p); };
  const auto put = [](T * p, const Vec<T>& v) __attribute__((always_inline)) { store(p, v); };
  std::int64_t i = 0;
  if (in.count == lanes<T>) {
    for (; i + vectors_in_flight<T> <= in.rows; i += vectors_in_flight<T>) {
      f(i, get, put, std::integral_constant<int, vectors_in_flight<T>>());
    }
  }
  const std::int64_t count = in.count;
  for (; i < in.rows; ++i) {
    f(
        i, [count](const T* p) __attribute__((always_inline)) { return load_n(p, count); },
        [count](T * p, const Vec<T>& v) __attribute__((always_inline)) { store_n(p, v, count); },
        std::integral_constant<int, 1>());
  }
}

// Writes the activations i and g to z.
template <class T>
static __attribute__((noinline)) void first_gates(const LstmStep<T>& s, const GateInputs<T>& in) {
  constexpr int L = lanes<T>;
  for_samples<T>(
      in, [&](std::int64_t i, auto, auto put, auto group_size) __attribute__((always_inline)) {
        constexpr int count = decltype(group_size)::value;
        Vec<T> input_gate[count], cell_gate[count];
        times<count>([&](int l) __attribute__((always_inline)) {
          input_gate[l] = load(in.values + (i + l) * 2 * L);
          cell_gate[l] = load(in.values + (i + l) * 2 * L + L);
        });
        sigmoid_in_place(input_gate);
        tanh_in_place(cell_gate);
        T* const z = s.z + (in.first + i) * s.z_stride + in.j;
        times<count>([&](int l) __attribute__((always_inline)) {
          put(z + l * s.z_stride, input_gate[l]);
          put(z + l * s.z_stride + 3 * s.hidden, cell_gate[l]);
        });
      });
}

// Writes the activations o and f to z, and the new cell and hidden states.
template <class T>
static __attribute__((noinline)) void last_gates(const LstmStep<T>& s, const GateInputs<T>& in) {
  constexpr int L = lanes<T>;
  for_samples<T>(
      in, [&](std::int64_t i, auto get, auto put, auto group_size) __attribute__((always_inline)) {
        constexpr int count = decltype(group_size)::value;
        Vec<T> out[count], forget[count], cell[count];
        const std::int64_t row = in.first + i;
        T* const z = s.z + row * s.z_stride + in.j;
        times<count>([&](int l) __attribute__((always_inline)) {
          out[l] = load(in.values + (i + l) * 2 * L);
          forget[l] = load(in.values + (i + l) * 2 * L + L);
        });
        sigmoid_in_place(forget);
        sigmoid_in_place(out);
        times<count>([&](int l) __attribute__((always_inline)) {
          T* const to = z + l * s.z_stride;
          cell[l] = forget[l] * get(s.c + (row + l) * s.c_stride + in.j) +
                    rounded<T>(get(to) * get(to + 3 * s.hidden));
          put(to + s.hidden, out[l]);
          put(to + 2 * s.hidden, forget[l]);
          put(s.c_new + (row + l) * s.c_new_stride + in.j, cell[l]);
        });
        tanh_in_place(cell);
        times<count>([&](int l) __attribute__((always_inline)) {
          put(s.h_new + (row + l) * s.h_new_stride + in.j, out[l] * cell[l]);
        });
      });
}

template <class T, int Rows>
ONDINE_INLINE void add_product(Vec<T> (&acc)[Rows][2], const T* a, std::int64_t stride,
                               std::int64_t k, const T* b) {
  constexpr int L = lanes<T>;
#pragma GCC unroll 4
  for (; k > 0; --k, ++a, b += 2 * L) {
    const Vec<T> left = load(b);
    const Vec<T> right = load(b + L);
    times<Rows>([&](int i) __attribute__((always_inline)) {
      const Vec<T> factor = broadcast(a[i * stride]);
      acc[i][0] += factor * left;
      acc[i][1] += factor * right;
    });
  }
}

template <class T, int Rows>
static void step_block(const LstmStep<T>& s, const T* panel, std::int64_t first, std::int64_t j,
                       bool last) {
  constexpr int L = lanes<T>;
  Vec<T> acc[Rows][2];
  times<Rows>([&](int i) __attribute__((always_inline)) {
    acc[i][0] = load(panel);
    acc[i][1] = load(panel + L);
  });
  add_product<T, Rows>(acc, s.x + first * s.x_stride, s.x_stride, s.input, panel + 2 * L);
  if (s.h != nullptr) {
    add_product<T, Rows>(acc, s.h + first * s.h_stride, s.h_stride, s.hidden,
                         panel + (1 + s.input) * 2 * L);
  }
  T values[Rows * 2 * L];
  times<Rows>([&](int i) __attribute__((always_inline)) {
    store(values + i * 2 * L, acc[i][0]);
    store(values + i * 2 * L + L, acc[i][1]);
  });
  const std::int64_t left = s.hidden - j;
  const GateInputs<T> in{values, first, Rows, j, left < L ? left : L};
  last ? last_gates(s, in) : first_gates(s, in);
}

template <class T, int... I>
constexpr auto step_block_of(std::int64_t rows, std::integer_sequence<int, I...>) {
  constexpr void (*all[])(const LstmStep<T>&, const T*, std::int64_t, std::int64_t,
                          bool) = {&step_block<T, I + 1>...};
  return all[rows - 1];
}

template <class T>
static void lstm_step(const LstmStep<T>& s) {
  constexpr auto every = std::make_integer_sequence<int, step_rows>();
  const std::int64_t blocks = (s.samples + step_rows - 1) / step_rows;
  if (blocks == 0) return;
  const std::int64_t rows = (s.samples + blocks - 1) / blocks;
  const T* panel = s.packed;
  for (std::int64_t j = 0; j < s.hidden; j += lanes<T>) {
    for (const bool last : {false, true}) {
      for (std::int64_t first = 0; first < s.samples; first += rows) {
        const std::int64_t left = s.samples - first;
        step_block_of<T>(left < rows ? left : rows, every)(s, panel, first, j, last);
      }
      panel += step_panel<T>(s.input, s.hidden);
    }
  }
}

}  // namespace ondine::math::ONDINE_ISA
