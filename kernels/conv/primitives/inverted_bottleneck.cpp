#include "kernels/conv/primitives/inverted_bottleneck.h"

#include <numeric>

#include "kernels/common/stored_elements.h"
#include "kernels/conv/algorithms/depthwise.h"
#include "kernels/conv/algorithms/plane_rows.h"
#include "kernels/matmul/gemm_call.h"
#include "kernels/matmul/packed_gemm.h"
#include "kernels/simd/vector/convert_table.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

// Memory that a tile of the planes may need: it is to stay in a second cache of 1 MB.
constexpr Index most_bytes = 800 * 1024;
constexpr Index packed_channels = 4;   // rows of so many stay in a first cache until packed
constexpr Index most_positions = 512;  // of images that are joined

// Channels that a task expands: the rows of two register blocks, or of a tile.
Index most_channels(const SimdTables& kernels) { return rounds_in_tiles(kernels) ? 32 : 24; }

ConvDesc projection_of(const InvertedBottleneckDesc& desc) {
  ConvDesc pointwise;
  pointwise.shape.in_channels = desc.inner.shape.groups;
  pointwise.shape.out_channels = desc.out_channels;
  pointwise.shape.in = pointwise.shape.out = desc.inner.shape.out;
  return pointwise;
}

// Rows of results of a band that fill whole panels, where they do not take too much.
Index whole_panels(Index most, Index width, Index nr) {
  const Index unit = nr / std::gcd(width, nr);
  return most > unit ? most / unit * unit : most;
}

}  // namespace

template <class T>
InvertedBottleneck<T>::InvertedBottleneck(const InvertedBottleneckDesc& desc, int threads,
                                          const SimdTables& kernels)
    : desc_(desc),
      bands_(desc.inner, kernels),
      kernels_(supports_pointwise_bf16<T>(projection_of(desc), kernels)
                   ? &kernels
                   : &without(kernels, ProductMode::bf16)) {
  const ConvShape& s = desc.inner.shape;
  if (is_empty(s)) return;
  const Index channels = even_chunk(s.groups, most_channels(bands_.kernels()));
  channels_ = std::min(round_up(channels, packed_channels), s.groups);
  // A row of x, of the rows between of a task, and of the results of all channels under it.
  const Index row = desc.inner.in_channels * s.in[2] + channels_ * s.in[2] +
                    divide_up(s.groups * s.out[2], s.stride[1]);
  const Index most = most_bytes * gemm().terms_in_packed / Index{sizeof(T)};
  splits_rows_ = expands() && bands_.takes_split_rows();
  bands_.cut(whole_panels(bands_.results_of(most / row * s.in[2]), s.out[2], gemm().nr),
             splits_rows_);
  if (bands_.bands().size() == 1) {
    // Partial panels cost more than a tile that leaves a cache.
    const Index images = std::min(2 * most / (row * s.in[1]), most_positions / volume(s.out));
    images_ = even_chunk(s.batch, std::max<Index>(1, images));
  }
  if (expands()) {
    for (const Band& band : bands_.bands()) kept_rows_ = std::max(kept_rows_, band.kept);
  }
  plan_memory(threads);
}

template <class T>
void InvertedBottleneck<T>::plan_memory(int threads) {
  const ConvShape& s = desc_.inner.shape;
  const Index between = images_ * bands_.plane();
  const Index columns = images_ * bands_.most_results() * s.out[2];
  kept_at_ = bytes_of<T>(packed_elements<T>(between, desc_.inner.in_channels, bands_.kernels()));
  panels_at_ = kept_at_ + bytes_of<T>(s.groups * kept_rows_ * s.in[2]);
  y_at_ = panels_at_ + bytes_of<T>(packed_elements<T>(columns, s.groups, *kernels_));
  slots_at_ = y_at_;
  if (images_ > 1) slots_at_ += bytes_of<T>(desc_.out_channels * columns);
  rows_at_ = bytes_of<T>(channels_ * between);
  scratch_at_ = rows_at_ + bytes_of<T>(packed_channels * std::max(between, columns));
  slot_bytes_ =
      scratch_at_ + std::max({bands_.product_bytes(channels_, images_), bands_.conv_bytes(),
                              scratch_of(projection(columns), tables_of<T>(*kernels_))});
  workspace_ = slots_at_ + ScratchPool::bytes(slot_bytes_, threads);
}

template <class T>
bool InvertedBottleneck<T>::rounds_expansion() const noexcept {
  return expands() && !bands_.bands().empty() && rounds_factors<T>(bands_.kernels());
}
template <class T>
bool InvertedBottleneck<T>::reads_x() const noexcept {
  return rounds_expansion() || (!expands() && sizeof(T) == sizeof(float));
}
template <class T>
bool InvertedBottleneck<T>::rounds_projection() const noexcept {
  return !bands_.bands().empty() && rounds_factors<T>(*kernels_);
}
template <class T>
bool InvertedBottleneck<T>::rounds_result() const {
  if (!rounds_projection() || gemm().rounds_result == nullptr) return false;
  return gemm().rounds_result(projection(1));
}

template <class T>
GemmCall<T> InvertedBottleneck<T>::projection(Index columns) const {
  GemmCall<T> call{};
  call.m = desc_.out_channels;
  call.n = columns;
  call.k = desc_.inner.shape.groups;
  call.a_row = call.k;
  call.a_col = 1;
  call.a = Elements<const T>(desc_.projection_stored);
  call.b_row = columns;
  call.b_col = 1;
  call.b_packed = true;
  call.ldc = images_ > 1 ? columns : volume(desc_.inner.shape.out);
  call.c = Elements<T>(desc_.y_stored);
  call.alpha = 1;
  call.activation = desc_.activation;
  return call;
}

template <class T>
Index InvertedBottleneck<T>::columns_of(const Tile& tile) const {
  return tile.images * bands_.bands()[tile.band].results * desc_.inner.shape.out[2];
}

template <class T>
void InvertedBottleneck<T>::run(ThreadPool& pool, const InvertedBottleneckArgs<T>& args,
                                Workspace workspace) const {
  require_stored(args.inner.x, desc_.inner.x_stored);
  require_stored(args.inner.pointwise, desc_.inner.pointwise_stored);
  require_stored(args.projection, desc_.projection_stored);
  require_stored(args.y, desc_.y_stored);
  const Index batch = desc_.inner.shape.batch;
  for (Index image = 0; image < batch; image += images_) {
    for (std::size_t band = 0; band < bands_.bands().size(); ++band) {
      run_tile(pool, args, {band, image, std::min(images_, batch - image)}, workspace);
    }
  }
}

template <class T>
void InvertedBottleneck<T>::run_tile(ThreadPool& pool, const InvertedBottleneckArgs<T>& args,
                                     const Tile& tile, Workspace workspace) const {
  const ConvShape& s = desc_.inner.shape;
  auto* const memory = static_cast<std::byte*>(workspace.data);
  const auto at = [&](std::size_t bytes) { return reinterpret_cast<T*>(memory + bytes); };
  const Shared shared{at(0), at(kept_at_), at(panels_at_), {memory + y_at_, desc_.y_stored}};
  const Workspace slots{memory + slots_at_, workspace.bytes - slots_at_};
  GemmCall<T> rows{};
  if (expands()) rows = pack_x(pool, args, tile, shared, slots);
  const Index work = channels_ * (rows.n * rows.k + columns_of(tile) * volume(s.kernel));
  ScratchPool(slots, slot_bytes_)
      .for_chunks(pool, divide_up(s.groups, channels_), grain_of(work, depthwise_work),
                  [&](std::byte* slot, Index first, Index last) {
                    const Index end = std::min(last * channels_, s.groups);
                    for (Index c = first * channels_; c < end; c += channels_) {
                      run_channels(args, tile, rows, c, std::min(channels_, end - c), shared, slot);
                    }
                  });
  project(pool, args, tile, shared, slots);
}

// The right factor of the first product: rows that the band before does not have.
template <class T>
GemmCall<T> InvertedBottleneck<T>::pack_x(ThreadPool& pool, const InvertedBottleneckArgs<T>& args,
                                          const Tile& tile, const Shared& shared,
                                          Workspace slots) const {
  const Band& band = bands_.bands()[tile.band];
  const GemmCall<T> source =
      bands_.rows_of(args.inner.x, tile.image, band.begin + band.kept, band.end);
  GemmCall<T> packed = source;
  packed.n *= tile.images;
  packed.b = shared.x;
  packed.b_packed = true;
  if (source.n == 0) return packed;
  if (tile.images == 1 && !splits_rows_) {
    tables_of<T>(bands_.kernels()).gemm->pack_b(source, shared.x);
    return packed;
  }
  const Index grain = grain_of(packed_channels * packed.n, depthwise_work);
  ScratchPool(slots, slot_bytes_)
      .for_chunks(pool, divide_up(source.k, packed_channels), grain,
                  [&](std::byte* slot, Index first, Index last) {
                    const Index end = std::min(last * packed_channels, source.k);
                    for (Index k = first * packed_channels; k < end; k += packed_channels) {
                      const Index some = std::min(packed_channels, end - k);
                      gather_rows(source, tile, k, some, slot + rows_at_);
                      pack_terms<T>({.n = packed.n, .k = some},
                                    {slot + rows_at_, source.b.storage()}, k, source.k, shared.x,
                                    bands_.kernels());
                    }
                  });
  return packed;
}

template <class T>
void InvertedBottleneck<T>::gather_rows(const GemmCall<T>& source, const Tile& tile, Index first,
                                        Index channels, std::byte* to) const {
  const Index element = element_bytes<T>(source.b.storage());
  const auto* const from = static_cast<const std::byte*>(source.b.memory());
  if (!splits_rows_) {
    return join_rows({tile.images, source.k, source.b_row, element}, from, first, channels, to);
  }
  for (Index c = first; c < first + channels; ++c) {
    for (Index image = 0; image < tile.images; ++image, to += source.n * element) {
      const Index plane = image * source.k + c;
      bands_.split_rows(to, from + plane * source.b_row * element,
                        source.n / desc_.inner.shape.in[2], element);
    }
  }
}

template <class T>
void InvertedBottleneck<T>::expand_channels(const InvertedBottleneckArgs<T>& args, const Tile& tile,
                                            const GemmCall<T>& rows, Index first, Index channels,
                                            const Shared& shared, std::byte* slot) const {
  const std::span<const Band> bands = bands_.bands();
  const Band& band = bands[tile.band];
  const Index width = desc_.inner.shape.in[2], keeping = kept_rows_ * width;
  const Index step = tile.images * bands_.plane();  // from a channel to the next
  T* const z = reinterpret_cast<T*>(slot);
  T* const kept = shared.kept + first * keeping;
  for (Index c = 0; c < channels; ++c) {
    std::copy_n(kept + c * keeping, band.kept * width, z + c * step);
  }
  if (rows.n > 0) {
    bands_.expand(rows, args.inner, first, channels, z + band.kept * width, step,
                  slot + scratch_at_);
  }
  if (tile.band + 1 == bands.size()) return;
  const Band& next = bands[tile.band + 1];
  const T* const from = z + (next.begin - band.begin) * width;
  for (Index c = 0; c < channels; ++c) {
    std::copy_n(from + c * step, next.kept * width, kept + c * keeping);
  }
}

template <class T>
const T* InvertedBottleneck<T>::rows_of_x(const InvertedBottleneckArgs<T>& args, const Tile& tile,
                                          Index image, Index channel, T* wide) const {
  const ConvShape& s = desc_.inner.shape;
  const Band& band = bands_.bands()[tile.band];
  const Index plane = (tile.image + image) * s.groups + channel;
  const Elements<const T> x = args.inner.x + (plane * volume(s.in) + band.begin * s.in[2]);
  if constexpr (sizeof(T) == sizeof(float)) {
    if (x.is_bf16()) {
      kernels_->convert->bfloat16_to_float(wide, x.bf16(), (band.end - band.begin) * s.in[2]);
      return wide;
    }
  }
  return x.plain();
}

template <class T>
void InvertedBottleneck<T>::run_channels(const InvertedBottleneckArgs<T>& args, const Tile& tile,
                                         const GemmCall<T>& rows, Index first, Index channels,
                                         const Shared& shared, std::byte* slot) const {
  const ConvShape& s = desc_.inner.shape;
  const Band& band = bands_.bands()[tile.band];
  if (expands()) expand_channels(args, tile, rows, first, channels, shared, slot);
  T* const z = reinterpret_cast<T*>(slot);
  const auto rows_between = [&](Index c, Index image) -> const T* {
    if (!expands()) return rows_of_x(args, tile, image, first + c, z);
    return z + (c * tile.images + image) * bands_.plane();
  };
  T* const results = reinterpret_cast<T*>(slot + rows_at_);
  for (Index c = 0; c < channels; c += packed_channels) {
    const Index some = std::min(packed_channels, channels - c);
    T* to = results;
    for (Index each = c; each < c + some; ++each) {
      for (Index image = 0; image < tile.images; ++image, to += band.results * s.out[2]) {
        bands_.convolve(band, rows_between(each, image), args.inner, first + each, to,
                        slot + scratch_at_);
      }
    }
    pack_terms({.n = columns_of(tile), .k = some}, results, first + c, s.groups, shared.panels,
               *kernels_);
  }
}

template <class T>
void InvertedBottleneck<T>::project(ThreadPool& pool, const InvertedBottleneckArgs<T>& args,
                                    const Tile& tile, const Shared& shared, Workspace slots) const {
  const ConvShape& s = desc_.inner.shape;
  const Index columns = columns_of(tile);
  const GemmKernels<T>& gemm = this->gemm();
  GemmCall<T> whole = projection(columns);
  whole.a = args.projection;
  pair_rows(whole);
  whole.row_bias = args.projection_bias;
  whole.c = images_ > 1 ? shared.y : args.y;
  if (images_ == 1) {
    const Index row = bands_.bands()[tile.band].first_result;
    whole.c += tile.image * whole.m * whole.ldc + row * s.out[2];
  }
  const Index panels = divide_up(columns, gemm.nr);
  const Index panel = gemm.nr * divide_up(whole.k, gemm.terms_in_packed);
  ScratchPool(slots, slot_bytes_)
      .for_chunks(pool, panels, divide_up(panels, pool.threads()),
                  [&](std::byte* slot, Index first, Index last) {
                    GemmCall<T> call = whole;
                    const Index j = first * gemm.nr;
                    call.n = std::min(columns, last * gemm.nr) - j;
                    call.b = shared.panels + first * panel;
                    call.c += j;
                    gemm.run(call, slot + scratch_at_);
                  });
  if (images_ == 1) return;
  const PlaneRows planes{tile.images, whole.m, volume(s.out), element_bytes<T>(desc_.y_stored)};
  auto* const to = static_cast<std::byte*>(args.y.memory()) + planes.offset(tile.image, 0);
  const auto* const from = static_cast<const std::byte*>(shared.y.memory());
  pool.for_chunks(whole.m, grain_of(columns, depthwise_work), [&](Index first, Index last) {
    part_rows(planes, from + planes.bytes(first * planes.row), first, last - first, to);
  });
}

template class InvertedBottleneck<float>;
template class InvertedBottleneck<double>;

}  // namespace ondine::math
