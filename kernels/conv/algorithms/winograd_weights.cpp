// backward_weights of a Winograd convolution: both operands are transformed, their products summed
// over all tiles, and the sums transformed back once. What is transformed at a time, rows of tiles
// of some channels, is shared; a task then computes a block of dw from it.
#include "kernels/conv/algorithms/winograd.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

constexpr Index run_tiles = 64;              // transformed at a time
constexpr Index max_block = 64;              // channels
constexpr Index max_group = 256;             // channels whose sums wait for further tiles
constexpr Index max_bytes = Index{2} << 20;  // of transformed tiles of an operand
constexpr Index min_blocks = 4;

// Runs of rows of tiles of an image, all runs of all images one after another. An element of the
// transformed space is a tile, or two where these are paired; a run has a whole number of elements.
struct TileRuns {
  TileRuns(const ConvShape& s, Index tile, Index tiles_of_element)
      : paired(tiles_of_element),
        down(divide_up(s.out[1], tile)),
        across(divide_up(s.out[2], tile)),
        rows(even_chunk(down, std::max<Index>(1, run_tiles / across))),
        of_image(divide_up(down, rows)),
        count(s.batch * of_image),
        elements(elements_of(rows)) {}

  Index elements_of(Index tile_rows) const { return divide_up(tile_rows * across, paired); }
  Index rows_of(Index run) const { return std::min(rows, down - run % of_image * rows); }
  // Elements of all runs before.
  Index before(Index run) const {
    const Index last = elements_of(rows_of(of_image - 1));
    return run / of_image * ((of_image - 1) * elements + last) + run % of_image * elements;
  }
  TileRows at(Index run) const {
    TileRows r{};
    r.first = run % of_image * rows;
    r.rows = rows_of(run);
    r.across = r.whole_columns = across;
    r.whole_rows = r.rows;
    return r;
  }

  Index paired;
  Index down, across;
  Index rows;      // of a run, the last of an image may have fewer
  Index of_image;  // runs
  Index count;
  Index elements;  // of a run
};

// Channels in blocks of whole vectors, and in groups of blocks.
struct ChannelBlocks {
  Index components;  // of a tile
  Index channels, width;
  Index group;  // blocks

  Index count() const { return divide_up(channels, width); }
  Index channels_of(Index block) const { return std::min(width, channels - block * width); }
};

template <class T>
class WinogradConvWeights final : public ConvAlgorithm<T> {
 public:
  WinogradConvWeights(const ConvDesc& desc, const SimdTables& kernels)
      : ConvAlgorithm<T>(desc, kernels),
        form_(winograd_form(desc)),
        transforms_(winograd_transforms(desc, this->set_)),
        full_(winograd_transforms(desc, tables_of<T>(without(kernels, ProductMode::bf16)))),
        paired_(this->set_.gemm->takes_pairs && transforms_.input_pairs != nullptr),
        runs_(desc.shape, form_.tile(), paired_ ? 2 : 1),
        lanes_(this->set_.depthwise_channels->lanes) {
    cut_channels();
    cut_tiles();
    const auto group_bytes = [&](const ChannelBlocks& blocks) {
      const Index step = component_step<T>(chunk_elements_ * blocks.width);
      return bytes_of<T>(blocks.group * blocks.components * step);
    };
    x_bytes_ = group_bytes(inner_);
    dy_bytes_ = group_bytes(outer_);
    sums_step_ = component_step<T>(inner_.width * outer_.width);
    const auto sums = bytes_of<T>(form_.weights() * sums_step_);
    this->shared_bytes_ = x_bytes_ + dy_bytes_;
    if (keeps_sums()) {
      this->shared_bytes_ +=
          bytes_of<std::byte>(checked_mul(static_cast<Index>(sums), inner_.group * outer_.group));
    } else {
      sums_bytes_ = sums;
    }
    splits_ = splits_factors(product(outer_.width, inner_.width, chunk_elements_), this->set_);
    const GemmCall<T> largest = product(outer_.width, inner_.width, chunk_elements_);
    this->slot_bytes_ =
        sums_bytes_ + winograd_scratch(full_, runs_.at(0), desc.shape.in, this->set_, largest);
  }

  bool splits() const override { return splits_; }

  void run(ThreadPool& pool, const ConvArgs<T>& args, Workspace workspace) const override {
    for (Index inner = 0; inner < inner_.count(); inner += inner_.group) {
      for (Index outer = 0; outer < outer_.count(); outer += outer_.group) {
        for (Index first = 0; first < runs_.count; first += chunk_) {
          run_part(pool, args, {inner, outer, first, std::min(runs_.count, first + chunk_)},
                   workspace);
        }
      }
    }
  }

 private:
  // The groups from two blocks on, and runs of tiles [first, last).
  struct Part {
    Index inner, outer;
    Index first, last;
  };

  void cut_channels() {
    const ConvShape& s = this->shape_;
    inner_.components = form_.sources();
    outer_.components = form_.results();
    inner_.channels = s.in_channels;
    outer_.channels = s.out_channels;
    inner_.width = round_up(even_chunk(s.in_channels, max_block), lanes_);
    outer_.width = round_up(even_chunk(s.out_channels, max_block), lanes_);
    while (inner_.count() * outer_.count() < min_blocks &&
           std::max(inner_.width, outer_.width) > 32) {
      Index& wider = outer_.width > inner_.width ? outer_.width : inner_.width;
      wider = round_up(divide_up(wider, 2), lanes_);
    }
    inner_.group = inner_.count();
    outer_.group = outer_.count();
  }
  // All tiles at once where they are few; else in chunks, and the channels in groups whose sums
  // stay in a cache meanwhile.
  void cut_tiles() {
    const auto fitting = [&](Index bytes) {
      const Index elements = std::max(inner_.group * inner_.width * inner_.components,
                                      outer_.group * outer_.width * outer_.components);
      const Index run_bytes = runs_.elements * elements * Index{sizeof(T)};
      return std::max<Index>(1, bytes / run_bytes);
    };
    chunk_ = runs_.count;
    if (runs_.count > fitting(max_bytes)) {
      for (ChannelBlocks* blocks : {&inner_, &outer_}) {
        blocks->group = even_chunk(blocks->count(), std::max<Index>(1, max_group / blocks->width));
      }
      // With stride 2, smaller chunks take as long.
      const bool strided = &form_ != &winograd_unit;
      chunk_ = even_chunk(runs_.count, fitting(strided ? max_bytes / 2 : max_bytes));
    }
    chunk_elements_ = chunk_ * runs_.elements;
  }
  bool keeps_sums() const { return chunk_ < runs_.count; }

  GemmCall<T> product(Index outer, Index inner, Index elements) const {
    GemmCall<T> call{};
    call.pairs = paired_;
    call.splits = splits_;
    call.m = outer;
    call.n = inner;
    call.k = elements * runs_.paired;
    call.a_row = 1;
    call.a_col = outer_.width;
    call.b_row = inner_.width;
    call.b_col = 1;
    call.ldc = inner_.width;
    call.alpha = 1;
    return call;
  }

  void run_part(ThreadPool& pool, const ConvArgs<T>& args, const Part& part,
                Workspace workspace) const {
    const Index inner = std::min(inner_.group, inner_.count() - part.inner);
    const Index outer = std::min(outer_.group, outer_.count() - part.outer);
    const Index runs = part.last - part.first;
    this->for_tasks(pool, workspace, runs * (inner + outer), 1, [&](Index task, std::byte* slot) {
      const Index which = task / runs;
      const Index run = part.first + task % runs;
      T* const shared = this->shared_of(workspace);
      if (which < inner) {
        transform_x(args.x.plain(), part, which, run, shared, slot);
      } else {
        transform_dy(args.dy, part, which - inner, run, shared + x_bytes_ / sizeof(T), slot);
      }
    });
    this->for_tasks(pool, workspace, inner * outer, 1, [&](Index task, std::byte* slot) {
      multiply(args, part, task / outer, task % outer, this->shared_of(workspace), slot);
    });
  }

  Index elements_of(const Part& part) const {
    return runs_.before(part.last) - runs_.before(part.first);
  }

  // Tiles of a run and of a block of channels, and where their transform goes.
  struct Placed {
    TileRows rows;
    T* to;
  };
  // The block `block` of `side`, whose planes have the extents `plane`; `which` of those that are
  // transformed together.
  Placed place(const Part& part, Index run, const ChannelBlocks& side, Index block, Index which,
               const SpatialDims& plane, T* to) const {
    const Index component = component_step<T>(elements_of(part) * side.width);
    TileRows rows = runs_.at(run);
    set_planes(rows, plane, side.channels_of(block), side.width, component);
    return {rows, to + which * side.components * component +
                      (runs_.before(run) - runs_.before(part.first)) * side.width};
  }

  void transform_x(const T* x, const Part& part, Index which, Index run, T* to,
                   std::byte* scratch) const {
    const ConvShape& s = this->shape_;
    const Index block = part.inner + which;
    const Placed at = place(part, run, inner_, block, which, s.in, to);
    const Index channel = run / runs_.of_image * s.in_channels + block * inner_.width;
    const auto transform = paired_ ? transforms_.input_pairs : full_.input;
    transform(at.rows, s.pad[1], s.pad[2], x + channel * volume(s.in), at.to, scratch);
  }

  void transform_dy(const T* dy, const Part& part, Index which, Index run, T* to,
                    std::byte* scratch) const {
    const ConvShape& s = this->shape_;
    const Index block = part.outer + which;
    const Placed at = place(part, run, outer_, block, which, s.out, to);
    const Index channel = run / runs_.of_image * s.out_channels + block * outer_.width;
    const auto transform = paired_ ? transforms_.output_gradient_pairs : full_.output_gradient;
    transform(at.rows, dy + channel * volume(s.out), at.to, scratch);
  }

  // The block of dw of the input channels `i` and the output channels `o` of the groups.
  void multiply(const ConvArgs<T>& args, const Part& part, Index i, Index o, T* shared,
                std::byte* slot) const {
    const ConvShape& s = this->shape_;
    const Index elements = elements_of(part);
    const Index inner = (part.inner + i) * inner_.width;
    const Index outer = (part.outer + o) * outer_.width;
    const Index inner_channels = inner_.channels_of(part.inner + i);
    const Index outer_channels = outer_.channels_of(part.outer + o);
    const Index x_step = component_step<T>(elements * inner_.width);
    const Index dy_step = component_step<T>(elements * outer_.width);
    T* const dy = shared + x_bytes_ / sizeof(T);
    T* sums = reinterpret_cast<T*>(slot);
    if (keeps_sums()) {
      sums = dy + dy_bytes_ / sizeof(T) + (i * outer_.group + o) * form_.weights() * sums_step_;
    }
    auto call = product(outer_channels, round_up(inner_channels, lanes_), elements);
    T* const dw = args.result.plain() + (outer * s.in_channels + inner) * 9;
    const bool last = part.last == runs_.count;
    for (Index t = 0; t < form_.terms(); ++t) {
      if (last) {  // dw comes from memory
        call.next = part_of_rows(dw, outer_channels, inner_channels * 9, s.in_channels * 9, t,
                                 form_.terms());
      }
      const WinogradTerm& term = form_.term(t);
      call.a = dy + (o * outer_.components + term.result) * dy_step;
      call.b = shared + (i * inner_.components + term.source) * x_step;
      call.c = sums + term.weight * sums_step_;
      call.beta = part.first == 0 && term.starts_weight ? T{0} : T{1};
      this->set_.gemm->run(call, slot + sums_bytes_);
    }
    if (!last) return;
    const TileWeights weights{inner_channels,    outer_channels, 9,
                              s.in_channels * 9, inner_.width,   sums_step_};
    full_.backward_weights(weights, sums, dw);
  }

  const WinogradForm& form_;
  const WinogradTransforms<T>& transforms_;
  const WinogradTransforms<T>& full_;  // in T
  bool splits_ = false;
  bool paired_;  // tiles, rounded to bfloat16
  TileRuns runs_;
  Index lanes_;
  ChannelBlocks inner_, outer_;
  Index chunk_ = 1;           // runs whose tiles are transformed at a time
  Index chunk_elements_ = 1;  // at most
  Index sums_step_ = 0;       // from a component to the next
  std::size_t x_bytes_ = 0, dy_bytes_ = 0;
  std::size_t sums_bytes_ = 0;  // of a slot; 0 where sums are shared
};

}  // namespace

template <class T>
MadeConv<T> make_winograd_weights(const ConvDesc& desc, const SimdTables& kernels) {
  return std::make_unique<WinogradConvWeights<T>>(desc, kernels);
}

template MadeConv<float> make_winograd_weights(const ConvDesc&, const SimdTables&);
template MadeConv<double> make_winograd_weights(const ConvDesc&, const SimdTables&);

}  // namespace ondine::math
