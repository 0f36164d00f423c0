// Convolutions of small planes as products of all threads: the columns of some images side by side
// are gathered once, by tables of what the lanes of vectors take from a plane.
//   forward           y = w columns(x)
//   backward_data     dx = scattered w^T dy
//   backward_weights  dw = sum over joined images of dy columns(x)^T
// Input channels come in blocks, so that their columns stay in a cache.
#include "kernels/conv/algorithms/joined_images.h"
#include "kernels/conv/algorithms/plane_gather.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

constexpr Index max_positions = 256;                // of a plane of y
constexpr Index least = 16;                         // of each dim of a product
constexpr Index block_elements = Index{256} << 10;  // of columns

template <class T>
class JoinedColumns final : public ConvImplementation<T> {
 public:
  JoinedColumns(const ConvDesc& desc, const SimdTables& kernels)
      : s_(desc.shape),
        direction_(desc.direction),
        activation_(desc.activation),
        kernels_(kernels),
        gather_(s_, im2col().lanes),
        joined_(s_.batch, volume(s_.out)),
        taps_(volume(s_.kernel)),
        depth_(s_.in_channels * taps_),
        in_plane_(volume(s_.in)) {
    // The last vector of a plane may reach beyond it.
    row_ = round_up(joined_.row(), im2col().lanes) + im2col().lanes;
    channels_ = even_chunk(s_.in_channels, std::max<Index>(1, block_elements / (taps_ * row_)));
    columns_bytes_ = bytes_of<T>(channels_ * taps_ * row_);
    if (joins()) joined_bytes_ = bytes_of<T>(s_.out_channels * joined_.row());
  }

  std::size_t workspace(int threads) const override {
    std::size_t product_bytes = 0;
    const Index last = s_.in_channels - (s_.in_channels - 1) / channels_ * channels_;
    for (const Index channels : {channels_, last}) {
      for (const Index images : {joined_.images(), joined_.last()}) {
        product_bytes = std::max(
            product_bytes, gemm_workspace<T>(product(channels, images), 1, threads, kernels_));
      }
    }
    return columns_bytes_ + joined_bytes_ + product_bytes;
  }

  bool splits() const override {
    return GemmPrimitive<T>::splits(product(channels_, joined_.images()), kernels_);
  }

  void run(ThreadPool& pool, const ConvArgs<T>& args, Workspace workspace) const override {
    auto* const memory = static_cast<std::byte*>(workspace.data);
    const std::size_t used = columns_bytes_ + joined_bytes_;
    const Memory at{reinterpret_cast<T*>(memory),
                    reinterpret_cast<T*>(memory + columns_bytes_),
                    {memory + used, workspace.bytes - used}};
    for (Index image = 0; image < s_.batch; image += joined_.images()) {
      const Images images{image, joined_.images_from(image)};
      switch (direction_) {
        case ConvDirection::forward:
          forward(pool, args, images, at);
          break;
        case ConvDirection::backward_data:
          backward_data(pool, args, images, at);
          break;
        case ConvDirection::backward_weights:
          backward_weights(pool, args, images, at);
          break;
      }
    }
  }

 private:
  struct Memory {
    T* columns;
    T* joined;  // rows of y or dy
    Workspace product;
  };
  struct Images {
    Index first, count;
  };

  const Im2colKernels<T>& im2col() const { return *tables_of<T>(kernels_).im2col; }
  const VectorKernels<T>& vector() const { return *tables_of<T>(kernels_).vector; }
  bool joins() const { return joined_.images() > 1; }

  GemmShape product(Index channels, Index images) const {
    const Index depth = channels * taps_;
    const Index positions = images * volume(s_.out);
    const Index y_row = joined_.row();
    switch (direction_) {
      case ConvDirection::forward:
        return {s_.out_channels, positions, depth, false, false, depth_, row_, y_row};
      case ConvDirection::backward_data:
        return {depth, positions, s_.out_channels, true, false, depth_, y_row, row_};
      case ConvDirection::backward_weights:
        break;
    }
    return {s_.out_channels, depth, positions, false, true, y_row, row_, depth_};
  }

  // body(first channel, how many) for each block of input channels.
  template <class Body>
  void for_blocks(const Body& body) const {
    for (Index c = 0; c < s_.in_channels; c += channels_) {
      body(c, std::min(channels_, s_.in_channels - c));
    }
  }
  // body(first, last) for chunks of the channels of a block.
  template <class Body>
  void for_channels(ThreadPool& pool, Index channels, const Body& body) const {
    pool.for_chunks(channels, grain_of(taps_ * row_, Index{1} << 14), body);
  }
  Index x_offset(Index image, Index channel) const {
    return (image * s_.in_channels + channel) * in_plane_;
  }
  Index y_offset(Index image) const { return image * s_.out_channels * volume(s_.out); }

  void gather(ThreadPool& pool, const T* x, const Images& images, Index channel, Index channels,
              T* columns) const {
    for_channels(pool, channels, [&](Index first, Index last) {
      for (Index i = 0; i < images.count; ++i) {
        im2col().gather_planes(gather_.table(), in_plane_, last - first,
                               x + x_offset(images.first + i, channel + first),
                               columns + first * taps_ * row_ + i * volume(s_.out), row_);
      }
    });
  }
  void scatter(ThreadPool& pool, const T* columns, const Images& images, Index channel,
               Index channels, const T* bias, T* dx) const {
    for_channels(pool, channels, [&](Index first, Index last) {
      for (Index i = 0; i < images.count; ++i) {
        for (Index c = first; c < last; ++c) {
          vector().fill(dx + x_offset(images.first + i, channel + c),
                        bias ? bias[channel + c] : T{0}, in_plane_);
        }
      }
      const Im2colBlock block{s_.in,
                              s_.kernel,
                              s_.out,
                              s_.stride,
                              s_.dilation,
                              s_.pad,
                              last - first,
                              0,
                              images.count * volume(s_.out),
                              row_,
                              s_.in_channels * in_plane_};
      im2col().scatter(block, columns + first * taps_ * row_,
                       dx + x_offset(images.first, channel + first));
    });
  }

  void forward(ThreadPool& pool, const ConvArgs<T>& args, const Images& images,
               const Memory& at) const {
    T* const y = args.result.plain() + y_offset(images.first);
    T* const result = joins() ? at.joined : y;
    for_blocks([&](Index channel, Index channels) {
      gather(pool, args.x.plain(), images, channel, channels, at.columns);
      GemmOptions<T> options;
      options.beta = channel == 0 ? T{0} : T{1};
      if (channel + channels == s_.in_channels) {
        options.row_bias = args.bias;
        options.activation = activation_;
      }
      gemm<T>(pool, product(channels, images.count), args.w.plain() + channel * taps_, at.columns,
              result, options, at.product, kernels_);
    });
    if (joins()) joined_.part(pool, result, s_.out_channels, images.count, y);
  }

  // dy of joined images.
  const T* join(ThreadPool& pool, const ConvArgs<T>& args, const Images& images,
                const Memory& at) const {
    const T* const dy = args.dy + y_offset(images.first);
    if (!joins()) return dy;
    joined_.join(pool, dy, s_.out_channels, images.count, at.joined);
    return at.joined;
  }

  void backward_data(ThreadPool& pool, const ConvArgs<T>& args, const Images& images,
                     const Memory& at) const {
    const T* const dy = join(pool, args, images, at);
    for_blocks([&](Index channel, Index channels) {
      gemm<T>(pool, product(channels, images.count), args.w.plain() + channel * taps_, dy,
              at.columns, {}, at.product, kernels_);
      scatter(pool, at.columns, images, channel, channels, args.bias, args.result.plain());
    });
  }

  void backward_weights(ThreadPool& pool, const ConvArgs<T>& args, const Images& images,
                        const Memory& at) const {
    const T* const dy = join(pool, args, images, at);
    GemmOptions<T> options;
    options.beta = images.first == 0 ? T{0} : T{1};
    for_blocks([&](Index channel, Index channels) {
      gather(pool, args.x.plain(), images, channel, channels, at.columns);
      gemm<T>(pool, product(channels, images.count), dy, at.columns,
              args.result.plain() + channel * taps_, options, at.product, kernels_);
    });
  }

  ConvShape s_;
  ConvDirection direction_;
  Activation activation_;
  const SimdTables& kernels_;
  PlaneGather gather_;
  JoinedImages joined_;
  Index taps_;      // of the window
  Index depth_;     // weights of an output channel
  Index in_plane_;  // elements
  Index row_;       // of columns
  Index channels_;  // input channels of a block
  std::size_t columns_bytes_;
  std::size_t joined_bytes_ = 0;
};

}  // namespace

template <class T>
bool supports_joined_columns(const ConvDesc& desc, const SimdTables& kernels) {
  const ConvShape& s = desc.shape;
  const Im2colKernels<T>& im2col = *tables_of<T>(kernels).im2col;
  if (im2col.gather_planes == nullptr || s.groups != 1 || is_empty(s)) return false;
  // In full precision, blocks of im2col are as fast.
  if (desc.direction == ConvDirection::backward_data && !rounds_factors<T>(kernels)) return false;
  return volume(s.out) <= max_positions && volume(s.in) <= im2col.max_plane &&
         std::min({s.in_channels * volume(s.kernel), s.out_channels, s.batch * volume(s.out)}) >=
             least;
}

template <class T>
MadeConv<T> make_joined_columns(const ConvDesc& desc, const SimdTables& kernels) {
  return std::make_unique<JoinedColumns<T>>(desc, kernels);
}

ONDINE_INSTANTIATE_CONV(joined_columns);

}  // namespace ondine::math
