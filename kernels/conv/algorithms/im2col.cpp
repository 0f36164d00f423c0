// Any convolution as products with matrices that have a column for each output position, in blocks:
// some input channels times their taps by a tile of positions.
//   forward           y = w columns(x); a task owns a tile of an image, or some images of few
//                     positions
//   backward_data     dx = scattered w^T dy; a task owns some channels of an image, so that tasks
//                     never write to the same place
//   backward_weights  dw = sum over images and tiles of dy columns(x)^T; a task owns some rows and
//                     columns of dw and adds all images in order
// Images of few positions are joined: weights are packed, and sums read, once for all of them.
// The number of threads changes no bit.
#include "core/stop.h"
#include "kernels/conv/algorithms/algorithm.h"
#include "kernels/conv/algorithms/plane_rows.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

// Runs a product in blocks of which none takes long, with a checkpoint before each.
template <class T>
void run_checked(const GemmKernels<T>& gemm, const GemmCall<T>& whole, void* scratch) {
  constexpr Index most = Index{1} << 27;  // multiplications
  // Columns that are packed stay together.
  const Index columns =
      whole.b_packed ? whole.n : std::min(whole.n, std::max<Index>(64, most / (256 * whole.k)));
  const Index rows = std::min(whole.m, std::max<Index>(64, most / (columns * whole.k) / 64 * 64));
  for (Index i = 0; i < whole.m; i += rows) {
    for (Index j = 0; j < whole.n; j += columns) {
      GemmCall<T> call = whole;
      call.m = std::min(rows, whole.m - i);
      call.n = std::min(columns, whole.n - j);
      call.a += i * whole.a_row;
      call.b += j * whole.b_col;
      call.c += i * whole.ldc + j;
      if (call.row_bias) call.row_bias += i;
      checkpoint(call.m * call.n * call.k / 16);
      gemm.run(call, scratch);
    }
  }
}

struct BlockLimits {
  Index rows, positions;
  Index unit;  // of positions
};

BlockLimits block_limits(const ConvDesc& desc, Index panel) {
  switch (desc.direction) {
    case ConvDirection::forward:
      return {512, 256, panel};
    case ConvDirection::backward_data:
      return {256, 256, panel};
    case ConvDirection::backward_weights:
      break;
  }
  // Enough tasks for a few threads, but not so few columns that packing dy counts.
  const ConvShape& s = desc.shape;
  const Index depth = s.in_channels / s.groups * volume(s.kernel);
  return {std::clamp<Index>(depth * s.groups / 8, 96, 320), 512, 16};
}

template <class T>
class Im2colConv final : public ConvAlgorithm<T> {
 public:
  Im2colConv(const ConvDesc& desc, const SimdTables& kernels)
      : ConvAlgorithm<T>(desc, kernels),
        direction_(desc.direction),
        packs_(direction_ == ConvDirection::forward && !rounds_factors<T>(kernels)) {
    const ConvShape& s = desc.shape;
    const BlockLimits limits = block_limits(desc, this->set_.gemm->nr);
    in_group_ = s.in_channels / s.groups;
    out_group_ = s.out_channels / s.groups;
    taps_ = volume(s.kernel);
    depth_ = in_group_ * taps_;
    in_plane_ = volume(s.in);
    out_plane_ = volume(s.out);
    channels_ = even_chunk(in_group_, std::max<Index>(1, limits.rows / taps_));
    blocks_ = divide_up(in_group_, channels_);
    rows_ = even_chunk(out_group_, 512);
    row_blocks_ = divide_up(out_group_, rows_);
    join_images();
    // Few positions of windows that have very many taps, which are gathered without a checkpoint.
    constexpr Index most = Index{1} << 22;
    const Index fitting =
        std::max(limits.unit, most / (channels_ * taps_) / limits.unit * limits.unit);
    images_ = std::min(images_, std::max<Index>(1, fitting / out_plane_));
    tile_ = round_up(even_chunk(images_ * out_plane_, std::min(limits.positions, fitting)),
                     limits.unit);
    tiles_ = divide_up(images_ * out_plane_, tile_);
    set_tasks();
    const Index columns = channels_ * taps_ * tile_ + (packs_ ? 64 : 0);
    columns_bytes_ = bytes_of<T>(columns);
    splits_ = splits_factors(product(rows_, channels_, tile_), this->set_);
    const Index joined_rows = direction_ == ConvDirection::backward_weights ? rows_ : out_group_;
    joined_bytes_ = images_ > 1 ? bytes_of<T>(joined_rows * tile_) : 0;
    this->slot_bytes_ =
        columns_bytes_ + joined_bytes_ + scratch_of(product(rows_, channels_, tile_), this->set_);
  }

  bool splits() const override { return splits_; }

  void run(ThreadPool& pool, const ConvArgs<T>& args, Workspace workspace) const override {
    this->for_tasks(pool, workspace, tasks_, grain_, [&](Index task, std::byte* slot) {
      switch (direction_) {
        case ConvDirection::forward:
          return forward(args, task, slot);
        case ConvDirection::backward_data:
          return backward_data(args, task, slot);
        case ConvDirection::backward_weights:
          return backward_weights(args, task, slot);
      }
    });
  }

 private:
  // As many as have the positions of a small tile, but not so many that few tasks are left.
  void join_images() {
    constexpr Index positions = 256;
    constexpr Index wanted_tasks = 4;
    const ConvShape& s = this->shape_;
    images_ = std::clamp<Index>(positions / out_plane_, 1, s.batch);
    if (direction_ == ConvDirection::backward_weights) return;
    const Index others = s.groups * (direction_ == ConvDirection::forward ? 1 : blocks_);
    while (images_ > 1 && divide_up(s.batch, images_) * others < wanted_tasks) {
      images_ = divide_up(images_, 2);
    }
    images_ = even_chunk(s.batch, images_);
  }

  void set_tasks() {
    const ConvShape& s = this->shape_;
    const Index joined = divide_up(s.batch, images_);
    Index work = 0;
    if (direction_ == ConvDirection::forward) {
      tasks_ = joined * s.groups * tiles_;
      work = out_group_ * depth_ * tile_;
    } else if (direction_ == ConvDirection::backward_data) {
      tasks_ = joined * s.groups * blocks_;
      work = out_group_ * channels_ * taps_ * out_plane_ * images_;
    } else {
      tasks_ = s.groups * row_blocks_ * blocks_;
      work = rows_ * channels_ * taps_ * out_plane_ * s.batch;
    }
    grain_ = grain_of(work, Index{1} << 20);
  }

  // The product of a block; `rows` of dw count for backward_weights alone.
  GemmCall<T> product(Index rows, Index channels, Index positions) const {
    GemmCall<T> call{};
    call.alpha = 1;
    call.splits = splits_;
    switch (direction_) {
      case ConvDirection::forward:
        call.m = out_group_;
        call.n = positions;
        call.k = channels * taps_;
        call.a_row = depth_;
        call.a_col = 1;
        call.b_row = tile_;
        call.b_col = 1;
        call.b_packed = packs_;
        call.ldc = images_ > 1 ? tile_ : out_plane_;
        break;
      case ConvDirection::backward_data:
        call.m = channels * taps_;
        call.n = positions;
        call.k = out_group_;
        call.a_row = 1;
        call.a_col = depth_;
        call.b_row = images_ > 1 ? tile_ : out_plane_;
        call.b_col = 1;
        call.ldc = tile_;
        break;
      case ConvDirection::backward_weights:
        call.m = rows;
        call.n = channels * taps_;
        call.k = positions;
        call.a_row = images_ > 1 ? tile_ : out_plane_;
        call.a_col = 1;
        call.b_row = 1;
        call.b_col = tile_;
        call.ldc = depth_;
        break;
    }
    return call;
  }

  Im2colBlock block(Index channels, Index first, Index last, Index width) const {
    const ConvShape& s = this->shape_;
    return {s.in,
            s.kernel,
            s.out,
            s.stride,
            s.dilation,
            s.pad,
            channels,
            first,
            last,
            width,
            s.in_channels * in_plane_};
  }
  // Elements before a channel of a group of an image.
  Index x_offset(Index image, Index group, Index channel) const {
    return (image * this->shape_.in_channels + group * in_group_ + channel) * in_plane_;
  }
  Index y_offset(Index image, Index group, Index channel) const {
    return (image * this->shape_.out_channels + group * out_group_ + channel) * out_plane_;
  }

  Index images_from(Index image) const { return std::min(images_, this->shape_.batch - image); }
  T* joined_of(std::byte* slot) const { return reinterpret_cast<T*>(slot + columns_bytes_); }
  // Rows of y of `count` images side by side in a tile.
  PlaneRows y_rows(Index count) const {
    return {count, this->shape_.out_channels, out_plane_, sizeof(T), tile_};
  }

  void forward(const ConvArgs<T>& args, Index task, std::byte* slot) const {
    T* const columns = reinterpret_cast<T*>(slot);
    const Index image = task / (tiles_ * this->shape_.groups) * images_;
    const Index images = images_from(image);
    const Index group = task / tiles_ % this->shape_.groups;
    const Index first = task % tiles_ * tile_;
    const Index last = std::min(images * out_plane_, first + tile_);
    T* const y = args.result.plain() + y_offset(image, group, 0);
    for (Index channel = 0; channel < in_group_; channel += channels_) {
      const Index count = std::min(channels_, in_group_ - channel);
      const bool done = channel + count == in_group_;
      checkpoint(count * taps_ * (last - first));
      this->set_.im2col->gather(block(count, first, last, packs_ ? this->set_.gemm->nr : tile_),
                                args.x.plain() + x_offset(image, group, channel), columns);
      auto call = product(rows_, count, last - first);
      call.a = args.w.plain() + group * out_group_ * depth_ + channel * taps_;
      call.b = columns;
      call.c = images_ > 1 ? joined_of(slot) : y + first;
      call.beta = channel == 0 ? T{0} : T{1};
      call.row_bias = done && args.bias ? args.bias + group * out_group_ : nullptr;
      call.activation = done ? this->activation_ : Activation::none;
      run_checked(*this->set_.gemm, call, slot + columns_bytes_ + joined_bytes_);
    }
    if (images_ > 1) part_rows(y_rows(images), joined_of(slot), 0, out_group_, y);
  }

  void backward_data(const ConvArgs<T>& args, Index task, std::byte* slot) const {
    T* const columns = reinterpret_cast<T*>(slot);
    const Index image = task / (blocks_ * this->shape_.groups) * images_;
    const Index images = images_from(image);
    const Index group = task / blocks_ % this->shape_.groups;
    const Index channel = task % blocks_ * channels_;
    const Index count = std::min(channels_, in_group_ - channel);
    const T* const bias = args.bias ? args.bias + group * in_group_ + channel : nullptr;
    T* const dx = args.result.plain() + x_offset(image, group, channel);
    for (Index i = 0; i < images * count; ++i) {
      const T start = bias ? bias[i % count] : T{0};
      this->set_.vector->fill(dx + x_offset(i / count, 0, i % count), start, in_plane_);
    }
    const T* dy = args.dy + y_offset(image, group, 0);
    if (images_ > 1) {
      join_rows(y_rows(images), dy, 0, out_group_, joined_of(slot));
      dy = joined_of(slot);
    }
    for (Index first = 0; first < images * out_plane_; first += tile_) {
      const Index last = std::min(images * out_plane_, first + tile_);
      auto call = product(rows_, count, last - first);
      call.a = args.w.plain() + group * out_group_ * depth_ + channel * taps_;
      call.b = dy + first;
      call.c = columns;
      run_checked(*this->set_.gemm, call, slot + columns_bytes_ + joined_bytes_);
      checkpoint(count * taps_ * (last - first));
      this->set_.im2col->scatter(block(count, first, last, tile_), columns, dx);
    }
  }

  void backward_weights(const ConvArgs<T>& args, Index task, std::byte* slot) const {
    const Index group = task / (row_blocks_ * blocks_);
    const Index row = task / blocks_ % row_blocks_ * rows_;
    const Index rows = std::min(rows_, out_group_ - row);
    const Index channel = task % blocks_ * channels_;
    const Index count = std::min(channels_, in_group_ - channel);
    T* const columns = reinterpret_cast<T*>(slot);
    T* const dw = args.result.plain() + (group * out_group_ + row) * depth_ + channel * taps_;
    for (Index image = 0; image < this->shape_.batch; image += images_) {
      const Index images = images_from(image);
      const T* const x = args.x.plain() + x_offset(image, group, channel);
      const T* dy = args.dy + y_offset(image, group, row);
      if (images_ > 1) {
        join_rows(y_rows(images), dy, 0, rows, joined_of(slot));
        dy = joined_of(slot);
      }
      for (Index first = 0; first < images * out_plane_; first += tile_) {
        const Index last = std::min(images * out_plane_, first + tile_);
        auto call = product(rows, count, last - first);
        checkpoint(count * taps_ * (last - first));
        this->set_.im2col->gather(block(count, first, last, tile_), x, columns);
        call.a = dy + first;
        call.b = columns;
        call.c = dw;
        call.beta = image == 0 && first == 0 ? T{0} : T{1};
        run_checked(*this->set_.gemm, call, slot + columns_bytes_ + joined_bytes_);
      }
    }
  }

  ConvDirection direction_;
  bool packs_;  // columns, as the product reads them
  bool splits_ = false;
  Index in_group_, out_group_;  // channels of a group
  Index taps_;                  // of the window
  Index depth_;                 // weights of an output channel
  Index in_plane_, out_plane_;
  Index channels_, blocks_;  // input channels of a block, and how many blocks
  Index images_ = 1;         // joined
  Index tile_, tiles_;       // positions
  Index rows_, row_blocks_;  // output channels of a task of backward_weights
  Index tasks_ = 0, grain_ = 1;
  std::size_t columns_bytes_;
  std::size_t joined_bytes_;  // of y or dy of joined images
};

}  // namespace

template <class T>
bool supports_im2col(const ConvDesc& desc, const SimdTables&) {
  return !is_empty(desc.shape);
}

template <class T>
MadeConv<T> make_im2col(const ConvDesc& desc, const SimdTables& kernels) {
  return std::make_unique<Im2colConv<T>>(desc, kernels);
}

ONDINE_INSTANTIATE_CONV(im2col);

}  // namespace ondine::math
