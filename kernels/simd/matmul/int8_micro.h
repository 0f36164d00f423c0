// Products of 8-bit integers by units of 32 bits, which hold elements that follow each other in k.
// A file that includes this defines a Unit:
//   terms                   elements of a unit
//   of_a(a, count)          the unit of A from its first `count` elements, the others being 0
//   of_b(rows, j, flip)      the unit of column j of B
//   dot(acc, b, a)          acc plus the products of a unit of A and of units of B
#pragma once

#include "kernels/simd/isa_tables.h"
#include "kernels/simd/matmul/int8_gemm_table.h"
#include "kernels/simd/quantize/requantize_vectors.h"
#include "kernels/simd/vector/simd.h"

namespace ondine::math::ONDINE_ISA {

using Lanes = Vec<std::int32_t>;

inline constexpr int int8_lanes = lanes<std::int32_t>;
inline constexpr std::int64_t int8_panel = 2 * int8_lanes;
// Accumulators for rows x 2 vectors, two of B and one of A in the registers.
#if defined(__AVX512F__)
inline constexpr int int8_rows = 12;
#else
inline constexpr int int8_rows = 4;
#endif

// Rows x (Vectors lanes) elements of C, or their quantized numbers.
template <class Unit, int Rows, int Vectors, bool Quantizes>
void int8_micro(const Int8GemmCall& call, const std::byte* b) {
  Lanes acc[Rows][Vectors] = {};
  if constexpr (Quantizes) {
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 16
      for (int v = 0; v < Vectors; ++v) acc[i][v] = broadcast(call.quantized->add[i]);
    }
  }
  const std::int8_t* a[Rows];
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) a[i] = call.a + i * call.a_row;
  const auto step = [&](std::int64_t p, std::int64_t terms) __attribute__((always_inline)) {
    Lanes row[Vectors];
#pragma GCC unroll 16
    for (int v = 0; v < Vectors; ++v) {
      __builtin_memcpy(&row[v], b + v * vector_bytes, vector_bytes);
    }
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const std::int32_t factor = Unit::of_a(a[i] + p, terms);
#pragma GCC unroll 16
      for (int v = 0; v < Vectors; ++v) acc[i][v] = Unit::dot(acc[i][v], row[v], factor);
    }
    b += 4 * int8_panel;
  };
  const std::int64_t whole = call.k / Unit::terms * Unit::terms;
  for (std::int64_t p = 0; p < whole; p += Unit::terms) step(p, Unit::terms);
  if (whole < call.k) step(whole, call.k - whole);
  if constexpr (Quantizes) {
    const Int8Quantized& to = *call.quantized;
    const RequantizeVectors quantize(to.lowest, to.highest, to.zero_point);
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const Vec<float> scale = broadcast(to.scale[i]);
#pragma GCC unroll 16
      for (int v = 0; v < Vectors; ++v) {
        store_bytes(to.y + i * to.ldy + v * int8_lanes, quantize.quantized(acc[i][v], scale),
                    call.n - v * int8_lanes);
      }
    }
  } else {
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 16
      for (int v = 0; v < Vectors; ++v) store(call.c + i * call.ldc + v * int8_lanes, acc[i][v]);
    }
  }
}

using Int8Micro = void (*)(const Int8GemmCall&, const std::byte*);

template <class Unit, int Vectors, bool Quantizes, int... I>
constexpr Int8Micro pick_int8_micro(int rows, std::integer_sequence<int, I...>) {
  constexpr Int8Micro all[] = {&int8_micro<Unit, I + 1, Vectors, Quantizes>...};
  return all[rows - 1];
}

ONDINE_INLINE std::int64_t int8_divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// Rows of equal blocks stay in the first cache while panels of B pass by.
template <class Unit, bool Quantizes>
void run_int8_blocks(const Int8GemmCall& call) {
  constexpr auto every = std::make_integer_sequence<int, int8_rows>();
  const std::int64_t blocks = int8_divide_up(call.m, int8_rows);
  const std::int64_t height = int8_divide_up(call.m, blocks);
  const std::int64_t panel_bytes = int8_divide_up(call.k, Unit::terms) * 4 * int8_panel;
  Int8Quantized quantized{};
  Int8GemmCall block = call;
  block.quantized = &quantized;
  for (std::int64_t i = 0; i < call.m; i += height) {
    const std::int64_t left = call.m - i;
    const auto rows = static_cast<int>(left < height ? left : height);
    block.a = call.a + i * call.a_row;
    for (std::int64_t j = 0; j < call.n; j += int8_panel) {
      if constexpr (Quantizes) {
        quantized = *call.quantized;
        quantized.y += i * quantized.ldy + j;
        quantized.add += i;
        quantized.scale += i;
      } else {
        block.c = call.c + i * call.ldc + j;
      }
      block.n = call.n - j;
      const std::byte* const b = call.b + j / int8_panel * panel_bytes;
      if (block.n > int8_lanes) {
        pick_int8_micro<Unit, 2, Quantizes>(rows, every)(block, b);
      } else {
        pick_int8_micro<Unit, 1, Quantizes>(rows, every)(block, b);
      }
    }
  }
}

template <class Unit>
void run_int8(const Int8GemmCall& call) {
  if (call.m == 0 || call.n == 0) return;
  call.quantized != nullptr ? run_int8_blocks<Unit, true>(call)
                            : run_int8_blocks<Unit, false>(call);
}

// One unit of a panel: columns of rows in memory. What stands for missing terms meets zeros of A.
template <class Unit>
void pack_int8_unit(std::uint32_t* __restrict to, const std::uint8_t* const* rows,
                    std::int64_t first, std::int64_t terms, std::int64_t columns,
                    std::uint8_t flip) {
  const std::uint8_t* from[Unit::terms];
  for (std::int64_t p = 0; p < Unit::terms; ++p) from[p] = rows[p < terms ? p : 0] + first;
  if (columns == int8_panel) {
    for (std::int64_t j = 0; j < int8_panel; ++j) to[j] = Unit::of_b(from, j, flip);
    return;
  }
  for (std::int64_t j = 0; j < columns; ++j) to[j] = Unit::of_b(from, j, flip);
  for (std::int64_t j = columns; j < int8_panel; ++j) to[j] = 0;
}

template <class Unit, class Pack>
ONDINE_INLINE void for_int8_units(std::byte* panels, std::int64_t k, std::int64_t n, Pack pack) {
  auto* to = reinterpret_cast<std::uint32_t*>(panels);
  for (std::int64_t j = 0; j < n; j += int8_panel) {
    const std::int64_t columns = n - j < int8_panel ? n - j : int8_panel;
    for (std::int64_t p = 0; p < k; p += Unit::terms) {
      pack(to, p, k - p < Unit::terms ? k - p : Unit::terms, j, columns);
      to += int8_panel;
    }
  }
}

template <class Unit>
void pack_int8_rows(std::byte* panels, const std::uint8_t* const* rows, std::int64_t first,
                    std::int64_t k, std::int64_t n, std::uint8_t flip) {
  for_int8_units<Unit>(
      panels, k, n,
      [&](std::uint32_t * to, std::int64_t p, std::int64_t terms, std::int64_t j,
          std::int64_t columns) __attribute__((always_inline)) {
        pack_int8_unit<Unit>(to, rows + p, first + j, terms, columns, flip);
      });
}

// A panel whose terms follow each other in memory, four a unit.
ONDINE_INLINE void transpose_int8(std::uint32_t* to, const std::uint8_t* b, std::int64_t b_col,
                                  std::int64_t k, std::uint8_t flip) {
  const auto flips = static_cast<std::int32_t>(flip * 0x01010101U);
  for (std::int64_t p = 0; p < k; p += vector_bytes, to += int8_lanes * int8_panel) {
    for (std::int64_t half = 0; half < int8_panel; half += int8_lanes) {
      Vec<float> rows[int8_lanes];
#pragma GCC unroll 16
      for (int c = 0; c < int8_lanes; ++c) {
        Lanes column;
        __builtin_memcpy(&column, b + (half + c) * b_col + p, vector_bytes);
        rows[c] = reinterpret_cast<Vec<float>>(column ^ flips);
      }
      transpose<float>(rows);
#pragma GCC unroll 16
      for (int u = 0; u < int8_lanes; ++u) {
        __builtin_memcpy(to + u * int8_panel + half, &rows[u], vector_bytes);
      }
    }
  }
}

template <class Unit>
void pack_int8_columns(std::byte* panels, const std::uint8_t* b, std::int64_t b_col, std::int64_t k,
                       std::int64_t n, std::uint8_t flip) {
  for_int8_units<Unit>(
      panels, k, n,
      [&](std::uint32_t * to, std::int64_t p, std::int64_t terms, std::int64_t j,
          std::int64_t columns) __attribute__((always_inline)) {
        const std::uint8_t* at[Unit::terms];
        for (std::int64_t c = 0; c < int8_panel; ++c) {
          for (std::int64_t t = 0; t < Unit::terms; ++t) {
            at[t] = b + (j + (c < columns ? c : 0)) * b_col + p + (t < terms ? t : 0);
          }
          to[c] = Unit::of_b(at, 0, flip);
        }
      });
}

template <class Unit>
void pack_int8(std::byte* panels, const std::uint8_t* b, std::int64_t b_row, std::int64_t b_col,
               std::int64_t k, std::int64_t n, std::uint8_t flip) {
  if (b_col != 1) {
    const bool quads = Unit::terms == 4 && k % vector_bytes == 0;
    const std::int64_t panel_bytes = int8_divide_up(k, Unit::terms) * 4 * int8_panel;
    const std::int64_t whole = quads ? n / int8_panel * int8_panel : 0;
    for (std::int64_t j = 0; j < whole; j += int8_panel, panels += panel_bytes) {
      transpose_int8(reinterpret_cast<std::uint32_t*>(panels), b + j * b_col, b_col, k, flip);
    }
    return pack_int8_columns<Unit>(panels, b + whole * b_col, b_col, k, n - whole, flip);
  }
  for_int8_units<Unit>(
      panels, k, n,
      [&](std::uint32_t * to, std::int64_t p, std::int64_t terms, std::int64_t j,
          std::int64_t columns) __attribute__((always_inline)) {
        const std::uint8_t* at[Unit::terms];
        for (std::int64_t t = 0; t < terms; ++t) at[t] = b + (p + t) * b_row;
        pack_int8_unit<Unit>(to, at, j, terms, columns, flip);
      });
}

ONDINE_INLINE void copy_int8_windows(std::uint8_t* to, const std::uint8_t* plane,
                                     const Int8Windows& w, std::int64_t tap) {
  for (std::int64_t i = 0; i < int8_block; ++i) to[i] = w.outside;
  const std::int32_t* const list = w.lists + tap * w.list_step;
  for (std::int32_t s = list[0]; s < list[1]; ++s) {
    const Int8Segment& segment = w.segments[s];
    const std::uint8_t* const from = plane + (segment.offset + segment.lane + w.tap_offsets[tap]);
    for (std::int32_t i = 0; i < segment.count; ++i) to[segment.lane + i] = from[i];
  }
}

template <class Unit>
void pack_int8_windows(std::byte* panels, const Int8Windows& w, std::int64_t positions) {
  const std::int64_t units = int8_divide_up(w.channels, Unit::terms) * w.taps;
  auto* to = reinterpret_cast<std::uint32_t*>(panels);
  for (std::int64_t u = 0; u < units; ++u, to += int8_panel) {
    const std::int64_t channel = u / w.taps * Unit::terms;
    const std::int64_t left = w.channels - channel;
    const std::int64_t terms = left < Unit::terms ? left : Unit::terms;
    std::uint8_t memory[Unit::terms][int8_block];
    const std::uint8_t* at[Unit::terms];
    for (std::int64_t t = 0; t < Unit::terms; ++t) at[t] = memory[t < terms ? t : 0];
    for (std::int64_t t = 0; t < terms; ++t) {
      copy_int8_windows(memory[t], w.planes + (channel + t) * w.plane_size, w, u % w.taps);
    }
    for (std::int64_t j = 0; j < positions; j += int8_panel) {
      pack_int8_unit<Unit>(to + j / int8_panel * units * int8_panel, at, j, terms, int8_panel,
                           w.flip);
    }
  }
}

}  // namespace ondine::math::ONDINE_ISA

// Where AVX512-VNNI has nothing of its own, it shares the functions of avx512.
#if defined(__AVX512VNNI__)
namespace ondine::math::avx512 {
#else
namespace ondine::math::ONDINE_ISA {
#endif

std::int32_t sign_int8_row(std::int8_t* to, const std::uint8_t* from, std::int64_t n,
                           std::uint8_t flip);
void int8_taps(std::int32_t* c, const std::int32_t* a, const std::uint8_t* const* rows,
               std::int64_t first, std::int64_t k, std::int64_t n, std::uint8_t flip);
void add_scaled_int32(std::int32_t* c, std::int32_t factor, const std::int32_t* x, std::int64_t n);
void copy_strided_bytes(std::uint8_t* to, const std::uint8_t* from, std::int64_t stride,
                        std::int64_t n);
}
