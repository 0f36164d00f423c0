// Groups of few channels, or a single one: a task packs the weights of a block of groups, then
// computes their results in bands of rows of some of the images.
#include "kernels/conv/algorithms/grouped.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

constexpr Index max_row = Index{1} << 18;  // elements of the copy that a row of positions needs
constexpr Index max_distance = Index{1} << 20;
constexpr Index wanted_tasks = 8;
constexpr Index max_lanes = 16;
constexpr Index max_taps = 64;
constexpr Index max_channels = 128;      // of a group
constexpr Index max_point_channels = 8;  // the same of windows of one element

class GroupedConv final : public ConvAlgorithm<float> {
 public:
  GroupedConv(const ConvDesc& desc, const SimdTables& kernels)
      : ConvAlgorithm(desc, kernels),
        table_(*set_.grouped_conv),
        group_(group_of(desc.shape)),
        d_(group_, desc.direction),
        taps_(volume(group_.kernel)),
        blocks_(desc.shape, d_.outer, table_.lanes),
        inner_(blocks_.groups, d_.inner, table_.cell * table_.paired, table_.paired),
        outer_(blocks_.groups, d_.outer, table_.lanes, 1),
        source_planes_(inner_, blocks_, d_.source_image(), volume(d_.in)),
        result_planes_(outer_, blocks_, d_.result_image(), volume(d_.out)),
        weight_planes_(outer_, blocks_, group_weights(),
                       d_.backward ? taps_ : group_.in_channels * taps_),
        copy_(StridedAxis(group_, 1, d_.backward), StridedAxis(group_, 2, d_.backward), d_.in,
              table_.cell) {
    set_bands();
    const Index factors = divide_up(d_.inner, table_.paired);
    const Index steps = table_.cell / blocks_.groups;
    for (Index a = 0; a < copy_.down.phases; ++a) {
      for (Index b = 0; b < copy_.across.phases; ++b) {
        phases_.push_back(
            copy_.taps(a, b, copy_vector_, inner_.vectors, steps, factors, table_.lanes));
      }
    }
    const Index width = copy_.across.positions(0);
    for (Index w = 0; w < d_.out[2]; ++w) {
      const Index phase = w % copy_.across.phases;
      result_columns_.push_back((phase * width + w / copy_.across.phases) * table_.lanes);
    }
    result_row_ = copy_.across.phases * width * table_.lanes;
    result_vector_ = band_ * copy_.down.phases * result_row_;
    weight_columns_ = cells_in_turn(d_.inner * taps_, table_.lanes);
    weights_vector_ = d_.inner * taps_ * table_.lanes;
    copy_bytes_ = bytes_of<float>(inner_.vectors * copy_vector_);
    result_bytes_ = bytes_of<float>(outer_.vectors * result_vector_);
    slot_bytes_ = copy_bytes_ + result_bytes_ + bytes_of<float>(outer_.vectors * weights_vector_);
  }

  void run(ThreadPool& pool, const ConvArgs<float>& args, Workspace workspace) const override {
    for_tasks(pool, workspace, blocks_.count * parts_, grain_, [&](Index task, std::byte* slot) {
      run_part(args, task / parts_, task % parts_, slot);
    });
  }

 private:
  Index group_weights() const { return group_.out_channels * group_.in_channels * taps_; }

  void set_bands() {
    band_ = copy_.band(inner_.vectors);
    bands_ = divide_up(copy_.down.positions(0), band_);
    copy_vector_ = copy_.elements(band_);
    const Index units = shape_.batch * bands_;
    part_ = even_chunk(units, std::max<Index>(1, units * blocks_.count / wanted_tasks));
    parts_ = divide_up(units, part_);
    grain_ = grain_of(part_ * band_ * copy_.down.phases * d_.out[2] * d_.inner * taps_ *
                          outer_.vectors * table_.lanes,
                      Index{1} << 20);
  }

  void run_part(const ConvArgs<float>& args, Index block, Index part, std::byte* slot) const {
    float* const copy = reinterpret_cast<float*>(slot);
    float* const result = reinterpret_cast<float*>(slot + copy_bytes_);
    float* const weights = reinterpret_cast<float*>(slot + copy_bytes_ + result_bytes_);
    const Index first = block * blocks_.groups;
    pack_weights(block, args.w.plain() + first * group_weights(), weights);
    std::fill_n(copy, inner_.vectors * copy_vector_, float{0});
    const Index groups = shape_.groups;
    const Index units = shape_.batch * bands_;
    for (Index unit = part * part_; unit < std::min(units, (part + 1) * part_); ++unit) {
      const Index plane = unit / bands_ * groups + first;
      const Index start = unit % bands_ * band_;
      copy_band(block, d_.source(args).plain() + plane * d_.source_image(), start, copy);
      multiply(copy, weights, start, result);
      store(block, result, start, args.bias ? args.bias + first * d_.outer : nullptr,
            args.result.plain() + plane * d_.result_image());
    }
  }

  void pack_weights(Index block, const float* w, float* to) const {
    const Index lanes = table_.lanes;
    for (Index v = 0; v < outer_.vectors; ++v, to += weights_vector_) {
      const Index* const rows = weight_planes_.of(block, v);
      if (d_.backward) {
        const CellRows cells{1, taps_, weight_columns_.data(), 0};
        for (Index inner = 0; inner < d_.inner; ++inner) {
          table_.interleave(cells, rows, w + inner * group_.in_channels * taps_,
                            to + inner * taps_ * lanes);
        }
      } else {
        table_.interleave({1, d_.inner * taps_, weight_columns_.data(), 0}, rows, w, to);
      }
      if (table_.pair_weights) table_.pair_weights(d_.inner, taps_, to);
    }
  }

  void copy_band(Index block, const float* source, Index start, float* copy) const {
    const Index rows = std::min(band_, copy_.down.positions(0) - start);
    const CellCopy::Inside in = copy_.inside(start, rows, d_.in[1]);
    for (Index v = 0; v < inner_.vectors; ++v, copy += copy_vector_) {
      copy_.clear_outside(in, rows, copy);
      if (in.begin == in.end) continue;
      table_.interleave_factors({in.end - in.begin, d_.in[2], copy_.columns.data(), copy_.row},
                                source_planes_.of(block, v), source + in.row * d_.in[2],
                                copy + in.begin * copy_.row);
    }
  }

  void multiply(const float* copy, const float* weights, Index start, float* result) const {
    const StridedAxis& down = copy_.down;
    const StridedAxis& across = copy_.across;
    CellPositions p{blocks_.groups,      0, 0, down.step * copy_.row, down.phases * result_row_,
                    taps_ * table_.lanes};
    for (Index a = 0; a < down.phases; ++a) {
      p.rows = std::min(band_, down.positions(a) - start);
      for (Index b = 0; b < across.phases; ++b) {
        p.width = across.positions(b);
        const auto& taps = phases_[static_cast<std::size_t>(a * across.phases + b)];
        float* const y = result + a * result_row_ + b * across.positions(0) * table_.lanes;
        table_.positions(p, taps.data(), static_cast<Index>(taps.size()), copy, weights,
                         outer_.vectors, weights_vector_, y, result_vector_);
      }
    }
  }

  void store(Index block, const float* result, Index start, const float* bias, float* y) const {
    const Index first = start * copy_.down.phases;
    const Index rows = std::min(band_ * copy_.down.phases, d_.out[1] - first);
    const CellRows cells{rows, d_.out[2], result_columns_.data(), result_row_};
    for (Index v = 0; v < outer_.vectors; ++v, result += result_vector_) {
      const Index* const lanes = result_planes_.of(block, v);
      float biases[max_lanes] = {};
      for (Index i = 0; bias && i < table_.lanes; ++i) {
        if (lanes[i] >= 0) biases[i] = bias[lanes[i] / volume(d_.out)];
      }
      table_.deinterleave(cells, lanes, result, bias ? biases : nullptr, activation_,
                          y + first * d_.out[2]);
    }
  }

  const GroupedConvKernels<float>& table_;
  ConvShape group_;
  DirectedShape d_;  // of a group
  Index taps_;
  GroupBlocks blocks_;
  CellLanes inner_, outer_;
  BlockPlanes source_planes_, result_planes_, weight_planes_;
  CellCopy copy_;
  std::vector<std::vector<CellTap>> phases_;
  std::vector<Index> result_columns_, weight_columns_;
  Index band_, bands_;  // rows of positions of a phase
  Index part_, parts_;  // bands of a task
  Index grain_;
  Index copy_vector_, result_row_, result_vector_, weights_vector_;  // elements
  std::size_t copy_bytes_, result_bytes_;
};

// Whether the copy for a row of positions stays small.
bool fits_copies(const ConvShape& s, const DirectedShape& d, Index channels) {
  if (std::max({s.pad[1], s.pad[2], s.dilation[1], s.dilation[2]}) > max_distance) return false;
  const StridedAxis across(s, 2, d.backward);
  const StridedAxis down(s, 1, d.backward);
  const Index row = across.span(across.positions(0));
  return row <= max_row && down.reach < max_row && down.span(1) <= max_row / row / channels;
}

// A single group pays where its channels fill vectors, and `direct` either leaves lanes beyond
// the rows idle or, for weights, adds up vectors of partial sums.
template <class T>
bool pays_for_single_group(const ConvDesc& desc, const SimdTables& kernels, Index lanes) {
  const DirectedShape d(desc);
  if (d.inner % 8 != 0 || d.outer % 16 != 0 || !supports_direct<T>(desc, kernels)) return false;
  if (rounds_factors<T>(kernels)) return true;
  if (desc.direction == ConvDirection::backward_weights) return lanes >= 8;
  return 8 * d.out[2] <= 7 * round_up(d.out[2], lanes);
}

}  // namespace

template <class T>
bool supports_grouped(const ConvDesc& desc, const SimdTables& kernels) {
  const ConvShape& s = desc.shape;
  const auto* const table = tables_of<T>(kernels).grouped_conv;
  if (table == nullptr || is_empty(s) || !is_planar(s)) return false;
  if (s.groups == 1 && !pays_for_single_group<T>(desc, kernels, table->lanes)) return false;
  const ConvShape group = group_of(s);
  const auto [few, many] = std::minmax(group.in_channels, group.out_channels);
  const Index taps = volume(s.kernel);
  if (few < 2 || many > (taps > 1 ? max_channels : max_point_channels) || taps > max_taps) {
    return false;
  }
  // Blocks in registers have two rows of positions.
  const bool is_line = s.in[1] == 1 && s.out[1] == 1;
  if (is_line && !rounds_factors<T>(kernels) && supports_direct<T>(desc, kernels)) return false;
  const DirectedShape d(group, desc.direction);
  const Index groups = groups_of_block(s, d.outer, table->lanes);
  return fits_copies(group, d, round_up(d.inner * groups, table->lanes));
}

template <class T>
MadeConv<T> make_grouped(const ConvDesc& desc, const SimdTables& kernels) {
  if constexpr (sizeof(T) == sizeof(float)) {
    if (desc.direction == ConvDirection::backward_weights) {
      return make_grouped_weights(desc, kernels);
    }
    return std::make_unique<GroupedConv>(desc, kernels);
  } else {
    return nullptr;
  }
}

ONDINE_INSTANTIATE_CONV(grouped);

}  // namespace ondine::math
