// Depthwise convolutions of 8-bit integers for processors with AVX512-VNNI: 16 positions of a row
// of the output at a time, four taps of a row of the kernel by one instruction.
#include "kernels/simd/isa_tables.h"
#include "kernels/simd/matmul/int8_gemm_table.h"
#include "kernels/simd/quantize/requantize_vectors.h"

namespace ondine::math::ONDINE_ISA {

void int8_depthwise(const Int8DepthwiseCall& call);

namespace {

constexpr std::int64_t positions = 16;

// Indices that bring the bytes under four taps of 16 positions together. Part L of 128 bits serves
// the positions 4 L and following.
struct Gather {
  // Taps 4 group and following.
  void set(const Int8DepthwiseCall& call, std::int64_t group) {
    alignas(64) std::int32_t words_at[16];
    alignas(64) std::uint8_t bytes_at[64];
    for (std::int64_t part = 0; part < 4; ++part) {
      for (std::int64_t i = 0; i < 4; ++i) {
        words_at[4 * part + i] =
            static_cast<std::int32_t>(part * call.stride + group * call.dilation + i);
        for (std::int64_t tap = 0; tap < 4; ++tap) {
          bytes_at[16 * part + 4 * i + tap] =
              static_cast<std::uint8_t>(i * call.stride + tap * call.dilation);
        }
      }
    }
    words = _mm512_load_si512(words_at);
    bytes = _mm512_load_si512(bytes_at);
  }
  __attribute__((always_inline)) __m512i of(const __m512i& row) const {
    const __m512i parts = _mm512_maskz_permutexvar_epi32(0xffff, words, row);
    return _mm512_maskz_shuffle_epi8(~__mmask64{0}, parts, bytes);
  }

  __m512i words, bytes;
};

// Bits [first, last) of 64, which may lie outside.
ONDINE_INLINE __mmask64 bits_between(std::int64_t first, std::int64_t last) {
  const std::int64_t low = first < 0 ? 0 : first;
  const std::int64_t high = last > 64 ? 64 : last;
  if (low >= high) return 0;
  return ~std::uint64_t{0} >> (64 - (high - low)) << low;
}

// State that the rows of one column of blocks share; the block begins at position `first`.
template <int Groups>
class Column {
 public:
  Column(const Int8DepthwiseCall& call, const Gather* gather, std::int64_t first)
      : plane_(call.x + (first * call.stride - call.pad)),
        in_rows_(call.in_rows),
        in_columns_(call.in_columns),
        row_pad_(call.row_pad),
        mask_(bits_between(call.pad - first * call.stride,
                           call.pad - first * call.stride + call.in_columns)),
        outside_(_mm512_set1_epi8(static_cast<char>(call.outside))),
        flip_(_mm512_set1_epi8(static_cast<char>(call.flip))),
        y_(call.quantized.y + first),
        out_columns_(call.out_columns),
        left_(call.out_columns - first),
        add_(_mm512_set1_epi32(call.quantized.add[0])),
        scale_(broadcast(call.quantized.scale[0])),
        quantize_(call.quantized.lowest, call.quantized.highest, call.quantized.zero_point) {
#pragma GCC unroll 2
    for (int g = 0; g < Groups; ++g) gather_[g] = gather[g];
  }

  // The taps of row `row` of the padded input.
  __attribute__((always_inline)) void load(std::int64_t row, __m512i* taps) const {
    const std::int64_t from = row - row_pad_;
    __m512i x = outside_;
    if (from >= 0 && from < in_rows_) {
      x = _mm512_mask_loadu_epi8(outside_, mask_, plane_ + from * in_columns_);
    }
    x ^= flip_;
#pragma GCC unroll 2
    for (int g = 0; g < Groups; ++g) taps[g] = gather_[g].of(x);
  }
  __attribute__((always_inline)) __m512i start() const { return add_; }
  __attribute__((always_inline)) void store(std::int64_t row, const __m512i& sum) const {
    store_bytes(y_ + row * out_columns_,
                quantize_.quantized(reinterpret_cast<Vec<std::int32_t>>(sum), scale_), left_);
  }

 private:
  const std::uint8_t* plane_;
  std::int64_t in_rows_, in_columns_, row_pad_;
  __mmask64 mask_;
  __m512i outside_, flip_;
  std::uint8_t* y_;
  std::int64_t out_columns_, left_;
  __m512i add_;
  Vec<float> scale_;
  RequantizeVectors quantize_;
  Gather gather_[Groups];
};

// The weights of four taps.
ONDINE_INLINE __m512i four_weights(const std::int8_t* from) {
  std::int32_t four;
  __builtin_memcpy(&four, from, 4);
  return _mm512_set1_epi32(four);
}

template <int Groups>
void run_columns(const Int8DepthwiseCall& call, const Gather* gather, std::int64_t first) {
  const Column<Groups> column(call, gather, first);
  const std::int64_t rows = call.out_rows;
  for (std::int64_t row = 0; row < rows; ++row) {
    __m512i sum = column.start();
    for (std::int64_t k = 0; k < call.kernel_rows; ++k) {
      __m512i taps[Groups];
      column.load(row * call.row_stride + k * call.row_dilation, taps);
#pragma GCC unroll 2
      for (int g = 0; g < Groups; ++g) {
        sum = _mm512_dpbusd_epi32(sum, taps[g], four_weights(call.weights + 4 * (k * Groups + g)));
      }
    }
    column.store(row, sum);
  }
}

// Runs a kernel of `Rows` rows without dilation: rows that the next row of the output needs too
// stay in registers.
template <int Groups, int Rows, int Stride>
void run_columns_in_registers(const Int8DepthwiseCall& call, const Gather* gather,
                              std::int64_t first) {
  const Column<Groups> column(call, gather, first);
  __m512i weights[Rows][Groups];
  __m512i taps[Rows][Groups];
#pragma GCC unroll 8
  for (int k = 0; k < Rows; ++k) {
#pragma GCC unroll 2
    for (int g = 0; g < Groups; ++g) {
      weights[k][g] = four_weights(call.weights + 4 * (k * Groups + g));
    }
    if (k + Stride < Rows) column.load(k, taps[k + Stride]);
  }
  const std::int64_t rows = call.out_rows;
  for (std::int64_t row = 0; row < rows; ++row) {
    __m512i sum = column.start();
#pragma GCC unroll 8
    for (int k = 0; k < Rows; ++k) {
      if (k + Stride >= Rows) {
        column.load(row * Stride + k, taps[k]);
      } else {
#pragma GCC unroll 2
        for (int g = 0; g < Groups; ++g) taps[k][g] = taps[k + Stride][g];
      }
#pragma GCC unroll 2
      for (int g = 0; g < Groups; ++g) {
        sum = _mm512_dpbusd_epi32(sum, taps[k][g], weights[k][g]);
      }
    }
    column.store(row, sum);
  }
}

using RunColumns = void (*)(const Int8DepthwiseCall&, const Gather*, std::int64_t);

RunColumns choose_columns(const Int8DepthwiseCall& call) {
  const bool wide = call.kernel_columns > 4;
  if (call.row_dilation == 1 && call.kernel_rows == 3 && !wide) {
    if (call.row_stride == 1) return run_columns_in_registers<1, 3, 1>;
    if (call.row_stride == 2) return run_columns_in_registers<1, 3, 2>;
  }
  if (call.row_dilation == 1 && call.kernel_rows == 5 && wide) {
    if (call.row_stride == 1) return run_columns_in_registers<2, 5, 1>;
    if (call.row_stride == 2) return run_columns_in_registers<2, 5, 2>;
  }
  return wide ? run_columns<2> : run_columns<1>;
}

}  // namespace

void int8_depthwise(const Int8DepthwiseCall& call) {
  Gather gather[2];
  gather[0].set(call, 0);
  gather[1].set(call, 1);
  const RunColumns run = choose_columns(call);
  for (std::int64_t first = 0; first < call.out_columns; first += positions) {
    run(call, gather, first);
  }
}

}  // namespace ondine::math::ONDINE_ISA
