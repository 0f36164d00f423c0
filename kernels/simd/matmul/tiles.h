// The tiles of Intel AMX: eight registers of up to 16 rows of 64 bytes. By the instructions where
// the file is compiled for them; elsewhere by a model of them in C++, for tests on any processor.
#pragma once

#include "kernels/simd/vector/pairs_bf16.h"

namespace ondine::math::ONDINE_ISA {

inline constexpr int tile_rows = 16;   // of floats or pairs
inline constexpr int tile_width = 16;  // floats or pairs in a row

#if defined(__AMX_BF16__)

// Holds the tiles of this thread; `shape` comes first.
class Tiles {
 public:
  Tiles() = default;
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
  ~Tiles() { asm volatile("tilerelease" ::: "memory"); }

  // Rows of each tile and floats or pairs in them; all lose what they held.
  void shape(const std::uint8_t (&rows)[8], const std::uint8_t (&widths)[8]) {
    struct alignas(64) {
      std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
      std::uint16_t row_bytes[16] = {};
      std::uint8_t rows[16] = {};
    } config;
    static_assert(sizeof(config) == 64);
    for (int t = 0; t < 8; ++t) {
      config.rows[t] = rows[t];
      config.row_bytes[t] = static_cast<std::uint16_t>(rows[t] > 0 ? 4 * widths[t] : 0);
    }
    asm volatile("ldtilecfg %0" ::"m"(config) : "memory");
  }

  template <int T>
  void clear() {
    asm volatile("tilezero %%tmm%c0" ::"i"(T));
  }
  // Rows `step` floats or pairs apart.
  template <int T>
  void load(const Pair* from, std::int64_t step) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(step * 4), "i"(T) : "memory");
  }
  template <int T>
  void store(float* to, std::int64_t step) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(step * 4), "i"(T) : "memory");
  }
  // C[i][j] += sum over q of the products of pairs A[i][q] and B[q][j].
  template <int C, int A, int B>
  void add_products() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(C), "i"(A), "i"(B));
  }
};

#else

// As the description of TDPBF16PS in Intel's Software Developer's Manual says, but for denormal
// numbers, which it counts as zeros.
class Tiles {
 public:
  void shape(const std::uint8_t (&rows)[8], const std::uint8_t (&widths)[8]) {
    for (int t = 0; t < 8; ++t) tiles_[t] = {rows[t], widths[t], {}};
  }

  template <int T>
  void clear() {
    tiles_[T] = {tiles_[T].rows, tiles_[T].width, {}};
  }
  template <int T>
  void load(const Pair* from, std::int64_t step) {
    clear<T>();
    for (int i = 0; i < tiles_[T].rows; ++i) {
      __builtin_memcpy(tiles_[T].at[i], from + i * step, tiles_[T].bytes());
    }
  }
  template <int T>
  void store(float* to, std::int64_t step) {
    for (int i = 0; i < tiles_[T].rows; ++i) {
      __builtin_memcpy(to + i * step, tiles_[T].at[i], tiles_[T].bytes());
    }
  }
  template <int C, int A, int B>
  void add_products() {
    for (int i = 0; i < tiles_[C].rows; ++i) {
      float even[tile_width] = {};
      float odd[tile_width] = {};
      for (int q = 0; q < tiles_[B].rows; ++q) {
        const std::uint32_t a = tiles_[A].at[i][q];
        for (int j = 0; j < tile_width; ++j) {
          const std::uint32_t b = tiles_[B].at[q][j];
          even[j] += low(a) * low(b);
          odd[j] += high(a) * high(b);
        }
      }
      for (int j = 0; j < tile_width; ++j) {
        float sum;
        __builtin_memcpy(&sum, &tiles_[C].at[i][j], sizeof(sum));
        sum += even[j] + odd[j];
        __builtin_memcpy(&tiles_[C].at[i][j], &sum, sizeof(sum));
      }
    }
  }

 private:
  struct Tile {
    int rows = 0, width = 0;
    std::size_t bytes() const { return std::size_t{4} * static_cast<std::size_t>(width); }
    std::uint32_t at[tile_rows][tile_width] = {};
  };

  static float low(std::uint32_t pair) { return as_float(pair << 16); }
  static float high(std::uint32_t pair) { return as_float(pair & 0xffff0000u); }
  static float as_float(std::uint32_t bits) {
    float value;
    __builtin_memcpy(&value, &bits, sizeof(value));
    return value;
  }

  Tile tiles_[8];
};

#endif

}  // namespace ondine::math::ONDINE_ISA
