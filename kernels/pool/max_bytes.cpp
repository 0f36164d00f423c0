#include "kernels/pool/max_bytes.h"

#include <array>

#include "kernels/common/kernel_scratch.h"
#include "kernels/common/scratch_pool.h"
#include "kernels/pool/algorithms/windows.h"
#include "kernels/simd/matmul/int8_gemm_table.h"
#include "kernels/simd/quantize/quantize_table.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

namespace {

constexpr std::size_t max_taps = 64;         // of a row of the window, and rows of a window
constexpr std::int64_t max_width = 1 << 16;  // of a padded row

// The rows of a window are joined in a padded row, then its columns.
class MaxBytes {
 public:
  MaxBytes(const math::PoolShape& shape, DType dtype)
      : shape_(shape),
        flip_(dtype == DType::int8 ? 0x80 : 0),
        maximum_(math::simd_tables().quantize->maximum),
        copy_strided_(math::simd_tables().int8_gemm->copy_strided),
        columns_((shape.out[2] - 1) * shape.stride[2] + 1),
        width_(columns_ + (shape.kernel[2] - 1) * shape.dilation[2]) {}

  std::size_t slot_bytes() const { return 2 * math::bytes_of<std::byte>(width_); }

  void run(const std::uint8_t* x, std::uint8_t* y, std::int64_t plane, std::byte* slot) const {
    x += plane * math::volume(shape_.in);
    y += plane * math::volume(shape_.out);
    auto* const line = reinterpret_cast<std::uint8_t*>(slot);
    std::fill_n(line, width_, std::uint8_t{0});  // the lowest: of padding
    math::for_output_rows(shape_, [&](std::int64_t d, std::int64_t h, std::int64_t first) {
      run_row(x, y + first, d, h, line, line + slot_bytes() / 2);
    });
  }

 private:
  void run_row(const std::uint8_t* x, std::uint8_t* y, std::int64_t d, std::int64_t h,
               std::uint8_t* line, std::uint8_t* joined) const {
    std::array<const std::uint8_t*, max_taps> rows;  // set as far as they are read
    std::size_t count = 0;
    math::for_rows_at(shape_, d, h, [&](std::int64_t offset) { rows[count++] = x + offset; });
    const std::int64_t pad = shape_.pad[2];
    checkpoint((static_cast<std::int64_t>(count) + shape_.kernel[2]) * width_ / 8);
    maximum_(line + pad, rows.data(), static_cast<std::int64_t>(count),
             std::min(shape_.in[2], width_ - pad), flip_, 0);
    for (std::size_t k = 0; k < static_cast<std::size_t>(shape_.kernel[2]); ++k) {
      rows[k] = line + static_cast<std::int64_t>(k) * shape_.dilation[2];
    }
    std::uint8_t* const to = shape_.stride[2] == 1 ? y : joined;
    maximum_(to, rows.data(), shape_.kernel[2], columns_, 0, flip_);
    if (to != y) copy_strided_(y, joined, shape_.stride[2], shape_.out[2]);
  }

  math::PoolShape shape_;
  std::uint8_t flip_;
  decltype(math::QuantizeKernels::maximum) maximum_;
  decltype(math::Int8GemmKernels::copy_strided) copy_strided_;
  std::int64_t columns_;  // between the first and the last window
  std::int64_t width_;    // of a row with padding
};

bool is_small(const math::PoolShape& s) {
  for (std::size_t i = 0; i < 3; ++i) {
    if (s.kernel[i] > static_cast<std::int64_t>(max_taps) || s.dilation[i] > max_width / 64 ||
        s.stride[i] > max_width / 64 || s.out[i] > max_width || s.pad[i] < 0 ||
        s.pad[i] > max_width) {
      return false;
    }
  }
  return s.kernel[0] * s.kernel[1] <= static_cast<std::int64_t>(max_taps) &&
         (s.out[2] + 1) * s.stride[2] <= max_width;
}

}  // namespace

Kernel bind_max_bytes(BindContext& context, const math::PoolShape& shape) {
  if (math::volume(shape.out) == 0 || !is_small(shape)) return {};
  const MaxBytes pool(shape, context.dtype(0));
  if (pool.slot_bytes() == 0) return {};
  context.set_implementation("max_bytes", isa_name(math::simd_tables()));
  Scratch scratch;
  const std::size_t bytes = math::ScratchPool::bytes(pool.slot_bytes(), context.threads());
  const std::size_t slots = scratch.add_bytes(bytes);
  scratch.request(context);
  const std::int64_t grain = math::pool_grain(shape);
  return [=, planes = shape.planes](KernelContext& call) {
    math::ScratchPool({Scratch::at<std::byte>(call, slots), bytes}, pool.slot_bytes())
        .for_chunks(call.pool(), planes, grain,
                    [&](std::byte* slot, std::int64_t first, std::int64_t last) {
                      for (auto plane = first; plane < last; ++plane) {
                        pool.run(call.in<std::uint8_t>(0), call.out<std::uint8_t>(0), plane, slot);
                      }
                    });
  };
}

}  // namespace ondine::kernels
