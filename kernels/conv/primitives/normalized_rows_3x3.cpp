// rows_3x3: see conv_grads.h.
#include <algorithm>
#include <cmath>

#include "kernels/common/scratch_pool.h"
#include "kernels/conv/algorithms/depthwise.h"
#include "kernels/conv/primitives/conv_grads.h"
#include "kernels/norm/bf16_elements.h"
#include "kernels/simd/norm/layer_norm_table.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

constexpr int taps = 9;
constexpr Index least_width = 32;  // some vectors

template <class T>
class Rows3x3 final : public Implementation<ConvGradsArgs<T>> {
 public:
  Rows3x3(const ConvGradsDesc& desc, const SimdTables& kernels)
      : desc_(desc), kernels_(&kernels), in_(volume(desc.shape.in)), out_(volume(desc.shape.out)) {
    const auto scratch_bytes = tables_of<T>(kernels).depthwise_norm->scratch_bytes;
    slot_bytes_ = bytes_of<std::byte>(scratch_bytes(plane_of(desc.shape)));
  }

  std::size_t workspace() const override { return ScratchPool::bytes(slot_bytes_, desc_.threads); }

  void run(ThreadPool& pool, const ConvGradsArgs<T>& args) const override {
    const ConvShape& s = desc_.shape;
    const Index grain = grain_of(s.batch * in_ * 2 * taps, depthwise_work);
    ScratchPool(args.workspace, slot_bytes_)
        .for_chunks(pool, s.groups, grain, [&](std::byte* slot, Index first, Index last) {
          for (Index c = first; c < last; ++c) {
            visit_elements<T>(desc_.norm.x_stored,
                              [&]<class X>() { run_channel<X>(args, c, slot); });
          }
        });
  }

 private:
  template <class X>
  void run_channel(const ConvGradsArgs<T>& args, Index c, std::byte* slot) const {
    const ConvShape& s = desc_.shape;
    const NormKernels<T, X> kernels = norm_kernels<T, X>(*kernels_);
    const X* const x = elements_of<X>(args.x);
    const auto epsilon = static_cast<double>(static_cast<T>(desc_.norm.epsilon));
    const double inverse = 1.0 / std::sqrt(static_cast<double>(args.variance[c]) + epsilon);
    const double a = inverse * static_cast<double>(args.scale[c]);
    const T mean = args.mean[c];
    const Normalization<T> by{{mean, static_cast<T>(a), args.bias[c], static_cast<T>(desc_.low),
                               static_cast<T>(desc_.norm.high)},
                              static_cast<T>(desc_.norm.low)};
    double sums[taps + 2] = {};
    for (Index n = 0; n < s.batch; ++n) {
      // Behind the last plane of a channel comes the first of the next.
      const Index images = n + 1 < s.batch ? s.groups : 1 - n * s.groups;
      const Index plane = n * s.groups + c;
      kernels.depthwise_norm->backward(plane_of(s), {images * in_, images * out_}, by,
                                       x + plane * in_, args.dy + plane * out_, args.w + c * taps,
                                       args.dx + plane * in_, sums, slot);
    }
    for (int k = 0; k < taps; ++k) args.dw[c * taps + k] = static_cast<T>(sums[k]);
    const double total = sums[taps];
    const double product = sums[taps + 1];  // sum of dz (x - mean)
    if (args.dscale) args.dscale[c] = static_cast<T>(product * inverse);
    if (args.dbias) args.dbias[c] = static_cast<T>(total);
    const auto count = static_cast<double>(s.batch * in_);
    const auto by_x = static_cast<T>(-a * product * inverse * inverse / count);
    const auto shift = static_cast<T>(-a * total / count);
    // Images are read backwards: the last ones are still in a cache.
    for (Index n = s.batch - 1; n >= 0; --n) {
      const Index at = (n * s.groups + c) * in_;
      kernels.layer_norm->norm_gradient(args.dx + at, args.dx + at, x + at, mean, by.row.a, by_x,
                                        shift, in_);
    }
  }

  ConvGradsDesc desc_;
  const SimdTables* kernels_;
  Index in_, out_;  // elements of a plane
  std::size_t slot_bytes_;
};

bool supports(const ConvGradsDesc& desc, const SimdTables&) {
  const ConvShape& s = desc.shape;
  const bool strides = s.stride[1] == s.stride[2] && (s.stride[1] == 1 || s.stride[1] == 2);
  return desc.normalized && desc.all && desc.norm.activation == Activation::bounds &&
         is_depthwise(s) && is_planar(s) && s.kernel == SpatialDims{1, 3, 3} && strides &&
         s.dilation == SpatialDims{1, 1, 1} && s.pad == SpatialDims{0, 1, 1} &&
         s.in[2] >= least_width;
}

}  // namespace

template <class T>
ConvGradsEntry<T> rows_3x3_grads() {
  return {"rows_3x3", &supports, &make_implementation<Rows3x3<T>, ConvGradsDesc, ConvGradsArgs<T>>};
}
template ConvGradsEntry<float> rows_3x3_grads();
template ConvGradsEntry<double> rows_3x3_grads();

}  // namespace ondine::math
