// Products of panels of split factors in the tiles of AMX.
#pragma once

#include "kernels/simd/matmul/split_factors.h"
#include "kernels/simd/matmul/tiles.h"

namespace ondine::math::ONDINE_ISA {

// Up to 32 x 32 elements of C. Vectors work meanwhile, in small units in even shares: the processor
// looks only some hundred instructions ahead for tiles to multiply.
class SplitTiles {
 public:
  // The sums of all steps of both panels, in rows of 32. Calls `work` so many times.
  template <class Work>
  void multiply(float* sums, const Pair* a, const Pair* b, std::int64_t steps, std::int64_t rows,
                std::int64_t cols, std::int64_t units, const Work& work) {
    shape(rows);
    const std::int64_t slots = steps * slots_each;
    std::int64_t due = 0;  // in parts of a unit
    const auto spend = [&due, &work, units, slots ]() __attribute__((always_inline)) {
      for (due += units; due >= slots; due -= slots) work();
    };
    const bool right = cols > tile_width;
    if (rows > tile_rows) {
      right ? multiply<2, 2>(sums, a, b, steps, spend) : multiply<2, 1>(sums, a, b, steps, spend);
    } else {
      right ? multiply<1, 2>(sums, a, b, steps, spend) : multiply<1, 1>(sums, a, b, steps, spend);
    }
  }

 private:
  static constexpr std::int64_t slots_each = 6;  // for units in a step

  // C in tiles 0 to 3, two to a row; A in 4 and 5, B in 6 and 7.
  void shape(std::int64_t rows) {
    if (rows == shaped_) return;
    shaped_ = rows;
    constexpr std::uint8_t whole = tile_width;
    const auto first = static_cast<std::uint8_t>(min_of(rows, tile_rows));
    const auto second = static_cast<std::uint8_t>(rows - first);
    tiles_.shape({first, first, second, second, first, second, whole, whole},
                 {whole, whole, whole, whole, whole, whole, whole, whole});
  }
  template <int Down>
  void load_a(const Pair* part) {
    tiles_.load<4>(part, tile_width);
    if constexpr (Down == 2) tiles_.load<5>(part + tile_pairs, tile_width);
  }
  template <int Across>
  void load_b(const Pair* part) {
    tiles_.load<6>(part, tile_width);
    if constexpr (Across == 2) tiles_.load<7>(part + tile_pairs, tile_width);
  }
  template <int Down, int Across, class Work>
  ONDINE_MEMBER void add_products(const Work& work) {
    tiles_.add_products<0, 4, 6>();
    if constexpr (Across == 2) tiles_.add_products<1, 4, 7>();
    if constexpr (Down == 2) tiles_.add_products<2, 5, 6>();
    if constexpr (Down == 2 && Across == 2) tiles_.add_products<3, 5, 7>();
    work();
  }

  // Products of parts of one step, the largest last. Each one after the first changes the part of
  // one factor.
  template <int Down, int Across, class Work>
  ONDINE_MEMBER void multiply_step(const Pair* a, const Pair* b, const Work& work) {
    const Pair* const second = a + part_pairs;
    load_b<Across>(b);
    load_a<Down>(second + part_pairs);
    add_products<Down, Across>(work);
    load_a<Down>(second);
    add_products<Down, Across>(work);
    load_b<Across>(b + part_pairs);
    add_products<Down, Across>(work);
    load_a<Down>(a);
    add_products<Down, Across>(work);
    load_b<Across>(b + 2 * part_pairs);
    add_products<Down, Across>(work);
    load_b<Across>(b);
    add_products<Down, Across>(work);
  }

  // Processors that have stored no tile for 700 ns take 250 ns longer for the next.
  static constexpr std::int64_t awake_steps = 3;

  template <int Down, int Across, class Work>
  void multiply(float* sums, const Pair* a, const Pair* b, std::int64_t steps, const Work& work) {
    tiles_.clear<0>();
    if constexpr (Across == 2) tiles_.clear<1>();
    if constexpr (Down == 2) tiles_.clear<2>();
    if constexpr (Down == 2 && Across == 2) tiles_.clear<3>();
    for (std::int64_t s = 0; s < steps; ++s, a += step_pairs, b += step_pairs) {
      multiply_step<Down, Across>(a, b, work);
      if (s % awake_steps == awake_steps - 1) tiles_.store<6>(unused_, 0);
    }
    tiles_.store<0>(sums, split_width);
    if constexpr (Across == 2) tiles_.store<1>(sums + tile_width, split_width);
    if constexpr (Down == 2) tiles_.store<2>(sums + tile_rows * split_width, split_width);
    if constexpr (Down == 2 && Across == 2) {
      tiles_.store<3>(sums + tile_rows * split_width + tile_width, split_width);
    }
  }

  Tiles tiles_;
  std::int64_t shaped_ = 0;  // rows
  alignas(64) float unused_[tile_width];
};

}  // namespace ondine::math::ONDINE_ISA
