// Products of 8-bit integers on one thread, A signed and B unsigned, in 32 bits that wrap around:
// exact, so that every instruction set computes the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ondine::math {

// Quantization of sums, applied instead of storing them (quantize_table.h). Row i has add[i] and
// scale[i].
struct Int8Quantized {
  std::uint8_t* y;  // row i begins at y + i ldy; no more than n columns are written
  std::int64_t ldy;
  const std::int32_t* add;
  const float* scale;
  float lowest, highest;
  std::int32_t zero_point;
};

// C = A B. Element (i, p) of A is a[i a_row + p]. B lies in panels.
struct Int8GemmCall {
  std::int64_t m, n, k;
  const std::int8_t* a;
  std::int64_t a_row;
  const std::byte* b;  // panels, 64-byte aligned
  std::int32_t* c;     // columns beyond n, up to a whole panel, may be written
  std::int64_t ldc;    // a multiple of `nr`
  const Int8Quantized* quantized = nullptr;  // where given, c is not written
};

// B of a convolution: term (c, t) of its sums, tap t of channel c, is read from plane c, for 64
// positions of the output from segments: lanes [lane, lane + count), which `mask` holds, of 64 are
// the bytes from offset + lane on. Other lanes are `outside`.
// A unit of terms has one tap of as many channels, for all taps of these channels one by one;
// channels beyond the last count as any number, by weights of 0.
inline constexpr std::int64_t int8_block = 64;
struct Int8Segment {
  std::int64_t offset;
  std::uint64_t mask;
  std::int32_t lane, count;
};
struct Int8Windows {
  const std::uint8_t* planes;  // of the first channel
  std::int64_t plane_size;
  std::int64_t channels;
  std::int64_t taps;
  const std::int64_t* tap_offsets;  // added to those of the segments of tap t, which are
  const Int8Segment* segments;      // segments[lists[t list_step]] up to lists[t list_step + 1]
  const std::int32_t* lists;
  std::int64_t list_step;  // 0 or 1
  std::uint8_t outside;    // as the elements lie in memory
  std::uint8_t flip;
};

// One plane of a depthwise convolution by one row of weights, quantized.
struct Int8DepthwiseCall {
  std::int64_t in_rows, in_columns, out_rows, out_columns;
  std::int64_t kernel_rows, kernel_columns;
  std::int64_t row_stride, stride, row_dilation, dilation, row_pad, pad;
  const std::uint8_t* x;
  // Rows of the kernel, each of whole groups of four taps; missing ones are 0.
  const std::int8_t* weights;
  std::uint8_t outside;  // as the elements lie in memory
  std::uint8_t flip;
  Int8Quantized quantized;  // one row
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
  // The first `positions` columns of a block of B, in int8_block / nr panels, of which those
  // without any of them are left as they are.
  void (*pack_windows)(std::byte* panels, const Int8Windows& windows, std::int64_t positions);
  // Elements ^ flip as signed numbers, and their sum. `to` may be null.
  std::int32_t (*sign_row)(std::int8_t* to, const std::uint8_t* from, std::int64_t n,
                           std::uint8_t flip);
  // c[j] = sum over p < k of a[p] (rows[p][first + j] ^ flip)
  void (*taps)(std::int32_t* c, const std::int32_t* a, const std::uint8_t* const* rows,
               std::int64_t first, std::int64_t k, std::int64_t n, std::uint8_t flip);
  // Null where there is none. Needs kernel_columns <= 8 and, of the columns, stride and dilation at
  // most 2.
  void (*depthwise)(const Int8DepthwiseCall& call);
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
