// Products of 8-bit integers on one thread, A signed and B unsigned, in 32 bits that wrap around:
// exact, so that every instruction set computes the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ondine::math {

// C = A B. Element (i, p) of A is a[i a_row + p]. B lies in panels.
struct Int8GemmCall {
  std::int64_t m, n, k;
  const std::int8_t* a;
  std::int64_t a_row;
  const std::byte* b;  // panels, 64-byte aligned
  std::int32_t* c;     // columns beyond n, up to a whole panel, may be written
  std::int64_t ldc;    // a multiple of `nr`
};

struct Int8GemmKernels {
  const char* name;  // of the implementation
  const char* isa;
  std::int64_t nr;    // columns of a panel of B
  std::int64_t unit;  // terms of k that lie together
  void (*run)(const Int8GemmCall& call);
  // B in panels of `nr` columns, the last filled up, each 4 nr bytes for every `unit` terms. An
  // element is that in memory ^ flip: 128 makes a signed one unsigned, 128 more. Element (p, j) is
  // rows[p][first + j], or b[p b_row + j b_col], one of the two strides being 1.
  void (*pack_rows)(std::byte* panels, const std::uint8_t* const* rows, std::int64_t first,
                    std::int64_t k, std::int64_t n, std::uint8_t flip);
  void (*pack_b)(std::byte* panels, const std::uint8_t* b, std::int64_t b_row, std::int64_t b_col,
                 std::int64_t k, std::int64_t n, std::uint8_t flip);
  // Elements ^ flip as signed numbers, and their sum. `to` may be null.
  std::int32_t (*sign_row)(std::int8_t* to, const std::uint8_t* from, std::int64_t n,
                           std::uint8_t flip);
  // c[j] = sum over p < k of a[p] (rows[p][first + j] ^ flip)
  void (*taps)(std::int32_t* c, const std::int32_t* a, const std::uint8_t* const* rows,
               std::int64_t first, std::int64_t k, std::int64_t n, std::uint8_t flip);
  // c[j] += factor x[j]
  void (*add_scaled)(std::int32_t* c, std::int32_t factor, const std::int32_t* x, std::int64_t n);

  // to[i] = from[i stride]
  void (*copy_strided)(std::uint8_t* to, const std::uint8_t* from, std::int64_t stride,
                       std::int64_t n);

  std::int64_t packed_bytes(std::int64_t k, std::int64_t n) const {
    return (k + unit - 1) / unit * ((n + nr - 1) / nr) * nr * 4;
  }
};

}  // namespace ondine::math
