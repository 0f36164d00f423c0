// Winograd convolution of few tiles with many channels: the transformed input is shared, and a task
// computes a panel of output channels, whose weights it transforms just before they are used. Those
// of the next panel are asked for while it multiplies.
#include "kernels/conv/algorithms/winograd.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

constexpr Index max_tiles = 64;
constexpr Index min_inner = 128;  // channels summed over, but where there are few positions
constexpr Index few_positions = 64;

template <class T>
class WinogradPanelsConv final : public ConvAlgorithm<T> {
 public:
  WinogradPanelsConv(const ConvDesc& desc, const SimdTables& kernels)
      : ConvAlgorithm<T>(desc, kernels),
        transforms_(winograd_transforms(desc, this->set_)),
        d_(desc),
        tiling_(desc, d_),
        panel_(this->set_.gemm->nr),
        panels_(divide_up(d_.outer, panel_)),
        tiles_(tiling_.tiles()),
        channels_(this->set_, d_.inner) {
    tiling_.block = tiling_.rows;
    tiling_.blocks = 1;
    product_ = component_product<T>(tiles_, panel_, d_.inner, channels_, panel_, panel_);
    source_step_ = component_step<T>(tiles_ * channels_.ld);
    weight_step_ = component_step<T>(channels_.rows * panel_);
    result_step_ = component_step<T>(tiles_ * panel_);
    this->shared_bytes_ = bytes_of<T>(tiling_.form.sources() * source_step_);
    weight_bytes_ = bytes_of<T>(tiling_.form.weights() * weight_step_);
    result_bytes_ = bytes_of<T>(tiling_.form.results() * result_step_);
    this->slot_bytes_ =
        weight_bytes_ + result_bytes_ +
        winograd_scratch(transforms_, tiling_.largest_run(), d_.in, this->set_, product_);
  }

  void run(ThreadPool& pool, const ConvArgs<T>& args, Workspace workspace) const override {
    T* const v = this->shared_of(workspace);
    const T* const source = d_.source(args).plain();
    this->for_tasks(pool, workspace, this->shape_.batch, 1, [&](Index task, std::byte* slot) {
      tiling_.for_runs(0, [&](Index image, TileRows run) {
        if (image != task) return;
        set_planes(run, d_.in, d_.inner, channels_.ld, source_step_);
        transforms_.input(run, tiling_.pad_h, tiling_.pad_w, source + image * d_.source_image(), v,
                          slot);
      });
    });
    const Index ahead = pool.threads();
    this->for_tasks(pool, workspace, panels_, 1, [&](Index panel, std::byte* slot) {
      run_panel(args, v, panel, panel + ahead, slot);
    });
  }

 private:
  TileWeights weights_of_panel(Index panel) const {
    TileWeights weights = weights_of(this->shape_, d_);
    weights.outer = std::min(panel_, d_.outer - panel * panel_);
    weights.component = weight_step_;
    return weights;
  }
  // The part of a panel's weights that is asked for with the product of a term.
  RowsAhead part_of_panel(const T* w, Index panel, Index term) const {
    if (panel >= panels_) return {};
    const TileWeights s = weights_of_panel(panel);
    const bool by_outer = s.outer_stride > s.inner_stride;
    const auto [rows, columns] =
        by_outer ? std::pair(s.outer, s.inner) : std::pair(s.inner, s.outer);
    const auto [row, column] = by_outer ? std::pair(s.outer_stride, s.inner_stride)
                                        : std::pair(s.inner_stride, s.outer_stride);
    return part_of_rows(w + panel * panel_ * s.outer_stride, rows, columns * column, row, term,
                        tiling_.form.terms());
  }

  // next: the panel that this thread may compute next.
  void run_panel(const ConvArgs<T>& args, const T* v, Index panel, Index next,
                 std::byte* slot) const {
    T* const u = reinterpret_cast<T*>(slot);
    T* const m = reinterpret_cast<T*>(slot + weight_bytes_);
    std::byte* const scratch = slot + weight_bytes_ + result_bytes_;
    const Index channel = panel * panel_;
    const TileWeights weights = weights_of_panel(panel);
    transforms_.weights(weights, 0, 1, panel_, d_.backward,
                        args.w.plain() + channel * weights.outer_stride, u);
    auto call = product_;
    call.n = whole_lanes(this->set_, weights.outer);
    for (Index i = 0; i < tiling_.form.terms(); ++i) {
      const WinogradTerm& term = tiling_.form.term(i);
      const auto range = tiling_.range_of(0, term.result);
      call.m = range.count;
      call.a = v + term.source * source_step_ + range.first * call.a_row;
      call.b = u + term.weight * weight_step_;
      call.c = m + term.result * result_step_ + range.first * call.ldc;
      call.beta = term.starts_result ? T{0} : T{1};
      call.next = part_of_panel(args.w.plain(), next, i);
      this->set_.gemm->run(call, scratch);
    }
    const T* const bias = args.bias ? args.bias + channel : nullptr;
    T* const result = args.result.plain() + channel * volume(d_.out);
    tiling_.for_runs(0, [&](Index image, TileRows run) {
      set_planes(run, d_.out, weights.outer, panel_, result_step_);
      transforms_.output(run, m, bias, this->activation_, result + image * d_.result_image(),
                         scratch);
    });
  }

  const WinogradTransforms<T>& transforms_;
  DirectedShape d_;
  WinogradTiling tiling_;
  Index panel_, panels_;  // outer channels of a panel, and how many
  Index tiles_;
  InnerChannels<T> channels_;
  Index source_step_, weight_step_, result_step_;  // from a component to the next
  GemmCall<T> product_{};
  std::size_t weight_bytes_, result_bytes_;
};

}  // namespace

template <class T>
bool supports_winograd_panels(const ConvDesc& desc, const SimdTables& kernels) {
  if (desc.direction == ConvDirection::backward_weights || !supports_winograd<T>(desc, kernels)) {
    return false;
  }
  const DirectedShape d(desc);
  return WinogradTiling(desc, d).tiles() <= max_tiles &&
         (d.inner >= min_inner || desc.shape.batch * volume(d.out) < few_positions);
}

template <class T>
MadeConv<T> make_winograd_panels(const ConvDesc& desc, const SimdTables& kernels) {
  return std::make_unique<WinogradPanelsConv<T>>(desc, kernels);
}

ONDINE_INSTANTIATE_CONV(winograd_panels);

}  // namespace ondine::math
