// Reductions over axes: the Reduce* operators, SumTo (the adjoint of Expand), and scans along one
// axis: CumSum, CumProd, ArgMax, ArgMin, Hardmax, TopK.
//   reduce.h        the walker of all reductions (this header), with the reducers of reducers.h
//   reduce_node.h   axes, keepdims and empty axes of the Reduce* operators
//   axis_scan.h     one pass along an axis, lines side by side
//   cumulative.h    CumSum and CumProd
//
// Blocks of at most block_length elements are combined in several lanes and their results merged in
// a wider type, which keeps sums of floats accurate. The order of additions depends on the shape
// alone.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "core/parallel.h"
#include "kernels/common/box_walk.h"
#include "kernels/common/visit_dtype.h"

namespace ondine::kernels {

// Which elements of a tensor are combined into which output.
class Reduction {
 public:
  Reduction(const Shape& x, const std::vector<bool>& reduced);

  std::int64_t outputs() const noexcept { return outputs_; }
  std::int64_t count() const noexcept { return count_; }  // elements combined into one output
  // Totals that `reduce` needs scratch memory for.
  std::int64_t partials() const noexcept { return blocks_ > 1 ? outputs_ * blocks_ : 0; }

  // y[o] = reducer.finish(merge of all its elements, o). The reducer has
  //   types Item (within a block) and Total, constants Item identity and Total total_identity,
  //   Item map(T x, int64 o), Item combine(Item, Item), Total widen(Item),
  //   Total merge(Total, Total), Y finish(Total, int64 o),
  // and may have Item of_row(const T*, int64 n), all elements of a row combined, and
  //   void add_rows(Item*, const T*, int64 rows, int64 n, int64 stride), the elements of rows that
  //   are `stride` apart combined with n items, in the order of rows.
  // Does not allocate.
  template <class T, class Y, class Reducer>
  void reduce(ThreadPool& pool, const T* x, Y* y, const Reducer& reducer, void* scratch) const;

 private:
  static constexpr std::int64_t chunk = 32768;       // elements of a row in one task
  static constexpr std::int64_t block_length = 512;  // elements of a row before widening
  static constexpr std::int64_t lanes = 16;
  static constexpr std::int64_t columns = 256;      // of one task
  static constexpr std::int64_t block_rows = 32;    // rows before widening
  static constexpr std::int64_t max_blocks = 64;    // tasks that share an output
  static constexpr std::int64_t enough_tasks = 32;  // above, outputs are not shared

  void split(std::int64_t tasks, std::int64_t units, std::int64_t units_per_block);

  template <class T, class Reducer>
  static typename Reducer::Item short_row(const T* x, std::int64_t n, const Reducer& r,
                                          std::int64_t o);
  template <class T, class Reducer>
  static typename Reducer::Total row(const T* x, std::int64_t n, const Reducer& r, std::int64_t o);
  template <class T, class Reducer>
  static typename Reducer::Total row_of_two(const T* x, const Reducer& r, std::int64_t o);
  template <class T, class Y, class Reducer>
  void rows(ThreadPool& pool, const T* x, Y* y, const Reducer& r,
            typename Reducer::Total* partial) const;
  template <class T, class Reducer>
  std::int64_t combine_rows(typename Reducer::Item* items, const T* x, BoxWalk& walk,
                            std::int64_t most, std::int64_t width, const Reducer& r,
                            std::int64_t o) const;
  template <class T, class Y, class Reducer>
  void column_tasks(ThreadPool& pool, const T* x, Y* y, const Reducer& r,
                    typename Reducer::Total* partial) const;

  std::vector<BoxAxis> kept_;     // all but the innermost axis
  std::vector<BoxAxis> reduced_;  // all but the innermost axis
  std::int64_t inner_ = 1;        // size of the innermost axis, which is contiguous
  bool inner_reduced_ = false;
  std::int64_t outputs_ = 1;
  std::int64_t count_ = 1;
  std::int64_t chunks_ = 1;  // that a row is cut into
  std::int64_t blocks_ = 1;  // tasks that share an output
  std::int64_t units_ = 1;   // chunks of rows, or rows, of one output
  std::int64_t units_per_block_ = 1;
};

// Fewer elements than lanes, in the order in which all lanes would be combined.
template <class T, class Reducer>
typename Reducer::Item Reduction::short_row(const T* x, std::int64_t n, const Reducer& r,
                                            std::int64_t o) {
  std::array<typename Reducer::Item, lanes> lane;
  std::size_t half = std::bit_ceil(static_cast<std::size_t>(n));
  for (std::size_t l = 0; l < half; ++l) {
    const bool given = static_cast<std::int64_t>(l) < n;
    lane[l] = given ? r.combine(Reducer::identity, r.map(x[l], o)) : Reducer::identity;
  }
  for (half /= 2; half > 0; half /= 2) {
    for (std::size_t l = 0; l < half; ++l) lane[l] = r.combine(lane[l], lane[l + half]);
  }
  return lane[0];
}

template <class T, class Reducer>
typename Reducer::Total Reduction::row(const T* x, std::int64_t n, const Reducer& r,
                                       std::int64_t o) {
  using Item = typename Reducer::Item;
  auto total = Reducer::total_identity;
  for (std::int64_t first = 0; first < n; first += block_length) {
    const std::int64_t last = std::min(n, first + block_length);
    if constexpr (requires { r.of_row(x, n); }) {
      total = r.merge(total, r.widen(r.of_row(x + first, last - first)));
      continue;
    }
    if (last - first < lanes) {
      total = r.merge(total, r.widen(short_row(x + first, last - first, r, o)));
      continue;
    }
    std::array<Item, lanes> lane;
    lane.fill(Reducer::identity);
    std::int64_t i = first;
    for (; i + lanes <= last; i += lanes) {
      for (std::int64_t l = 0; l < lanes; ++l) {
        Item& item = lane[static_cast<std::size_t>(l)];
        item = r.combine(item, r.map(x[i + l], o));
      }
    }
    for (std::size_t l = 0; i < last; ++i, ++l) lane[l] = r.combine(lane[l], r.map(x[i], o));
    for (std::size_t half = lanes / 2; half > 0; half /= 2) {
      for (std::size_t l = 0; l < half; ++l) lane[l] = r.combine(lane[l], lane[l + half]);
    }
    total = r.merge(total, r.widen(lane[0]));
  }
  return total;
}

// As row() combines two elements.
template <class T, class Reducer>
typename Reducer::Total Reduction::row_of_two(const T* x, const Reducer& r, std::int64_t o) {
  if constexpr (requires { r.of_row(x, 2); }) {
    return row(x, 2, r, o);
  } else {
    const typename Reducer::Item item = r.combine(r.combine(Reducer::identity, r.map(x[0], o)),
                                                  r.combine(Reducer::identity, r.map(x[1], o)));
    return r.merge(Reducer::total_identity, r.widen(item));
  }
}

// The innermost axis is reduced: one task is one block of one output. Totals of blocks go to
// `partial`; where it is null, an output is one block.
template <class T, class Y, class Reducer>
void Reduction::rows(ThreadPool& pool, const T* x, Y* y, const Reducer& r,
                     typename Reducer::Total* partial) const {
  const std::int64_t work = std::max<std::int64_t>(1, units_per_block_ * inner_ / chunks_);
  const std::int64_t grain = std::max<std::int64_t>(1, chunk / 2 / work);
  const bool one_row_each = units_ == 1 && kept_.size() <= 1;
  pool.for_chunks(outputs_ * blocks_, grain, [&](std::int64_t first, std::int64_t last) {
    // Such as the parts of complex numbers.
    if (one_row_each && inner_ == 2) {
      for (auto o = first; o < last; ++o) {
        y[o] = r.finish(r.merge(Reducer::total_identity, row_of_two(x + 2 * o, r, o)), o);
      }
      return;
    }
    if (one_row_each) {
      for (auto o = first; o < last; ++o) {
        y[o] = r.finish(r.merge(Reducer::total_identity, row(x + o * inner_, inner_, r, o)), o);
      }
      return;
    }
    for (auto task = first; task < last; ++task) {
      const std::int64_t o = task / blocks_;
      const std::int64_t block = task % blocks_;
      const T* base = x + BoxWalk(kept_, o).from;
      auto total = Reducer::total_identity;
      const std::int64_t unit = block * units_per_block_;
      const std::int64_t end = std::min(units_, unit + units_per_block_);
      BoxWalk walk(reduced_, unit / chunks_);
      for (auto u = unit; u < end; ++u) {
        const std::int64_t start = u % chunks_ * chunk;
        const std::int64_t n = std::min(inner_, start + (chunks_ > 1 ? chunk : inner_)) - start;
        total = r.merge(total, row(base + walk.from + start, n, r, o));
        if ((u + 1) % chunks_ == 0) walk.next();
      }
      if (partial != nullptr) {
        partial[o * blocks_ + block] = total;
      } else {
        y[o] = r.finish(total, o);
      }
    }
  });
}

// Combines the row that `walk` is at with items, and those after it that are equally far apart, at
// most `most`; returns how many.
template <class T, class Reducer>
std::int64_t Reduction::combine_rows(typename Reducer::Item* items, const T* x, BoxWalk& walk,
                                     std::int64_t most, std::int64_t width, const Reducer& r,
                                     std::int64_t o) const {
  const T* row = x + walk.from;
  if constexpr (requires { r.add_rows(items, row, most, width, most); }) {
    std::int64_t rows = 1, stride = 0;
    if (!reduced_.empty()) {
      rows = std::min(most, reduced_.back().size - walk.index(reduced_.size() - 1));
      stride = reduced_.back().from;
    }
    r.add_rows(items, row, rows, width, stride);
    for (std::int64_t i = 0; i < rows; ++i) walk.next();
    return rows;
  }
  for (std::int64_t k = 0; k < width; ++k) items[k] = r.combine(items[k], r.map(row[k], o + k));
  walk.next();
  return 1;
}

// The innermost axis is kept: one task is a block of rows of a strip of columns.
template <class T, class Y, class Reducer>
void Reduction::column_tasks(ThreadPool& pool, const T* x, Y* y, const Reducer& r,
                             typename Reducer::Total* partial) const {
  using Item = typename Reducer::Item;
  using Total = typename Reducer::Total;
  const std::int64_t strips = (inner_ + columns - 1) / columns;
  const std::int64_t work = units_per_block_ * std::min(inner_, columns);
  const std::int64_t grain = std::max<std::int64_t>(1, chunk / 2 / work);
  const std::int64_t tasks = outputs_ / inner_ * strips * blocks_;
  pool.for_chunks(tasks, grain, [&](std::int64_t first, std::int64_t last) {
    for (auto task = first; task < last; ++task) {
      const std::int64_t block = task % blocks_;
      const std::int64_t strip = task / blocks_ % strips * columns;
      const std::int64_t kept = task / blocks_ / strips;
      const std::int64_t width = std::min(columns, inner_ - strip);
      const std::int64_t o = kept * inner_ + strip;
      const T* base = x + BoxWalk(kept_, kept).from + strip;
      std::array<Item, columns> items;
      std::array<Total, columns> totals;
      std::fill_n(totals.begin(), width, Reducer::total_identity);
      const std::int64_t end = std::min(units_, (block + 1) * units_per_block_);
      BoxWalk walk(reduced_, block * units_per_block_);
      for (auto u = block * units_per_block_; u < end;) {
        std::fill_n(items.begin(), width, Reducer::identity);
        for (const auto stop = std::min(end, u + block_rows); u < stop;) {
          u += combine_rows(items.data(), base, walk, stop - u, width, r, o);
        }
        for (std::size_t k = 0; k < static_cast<std::size_t>(width); ++k) {
          totals[k] = r.merge(totals[k], r.widen(items[k]));
        }
      }
      for (std::int64_t k = 0; k < width; ++k) {
        const Total& total = totals[static_cast<std::size_t>(k)];
        if (partial != nullptr) {
          partial[(o + k) * blocks_ + block] = total;
        } else {
          y[o + k] = r.finish(total, o + k);
        }
      }
    }
  });
}

template <class T, class Y, class Reducer>
void Reduction::reduce(ThreadPool& pool, const T* x, Y* y, const Reducer& reducer,
                       void* scratch) const {
  using Total = typename Reducer::Total;
  if (count_ == 0) {
    for (std::int64_t o = 0; o < outputs_; ++o) y[o] = reducer.finish(Reducer::total_identity, o);
    return;
  }
  if (outputs_ == 0) return;
  // One function for both ways: two would double the code of every reduction.
  auto* const partial = static_cast<Total*>(blocks_ > 1 ? scratch : nullptr);
  if (inner_reduced_) {
    rows(pool, x, y, reducer, partial);
  } else {
    column_tasks(pool, x, y, reducer, partial);
  }
  if (partial == nullptr) return;
  for (std::int64_t o = 0; o < outputs_; ++o) {
    Total total = partial[o * blocks_];
    for (std::int64_t b = 1; b < blocks_; ++b) {
      total = reducer.merge(total, partial[o * blocks_ + b]);
    }
    y[o] = reducer.finish(total, o);
  }
}

}  // namespace ondine::kernels
