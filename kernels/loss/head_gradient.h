// The derivative of ProjectedCrossEntropy by its matrix, block by block of the classes. The scores
// of a block are computed again, since the logarithm of the sum of exponentials of each row is
// known: neither the scores nor their derivative are ever in memory as a whole.
#pragma once

#include <array>
#include <vector>

#include "kernels/common/compute_type.h"
#include "kernels/common/scratch_pool.h"
#include "kernels/loss/head_matrix.h"
#include "kernels/loss/loss.h"
#include "kernels/matmul/gemm_primitive.h"

namespace ondine::kernels {

// Where an operator has what the derivative follows from: that of the loss, rows h [..., depth],
// the matrix w, labels [...], and for each label the logarithm that ProjectedCrossEntropy gives.
struct HeadInputs {
  std::size_t dloss, h, w, labels, logarithms;
};

// The attributes of the loss of a head, for the nodes of its derivatives.
graph::Attributes head_attributes(const graph::NodeView& node);

// Checks labels and rows against each other and w, and returns the dims of the labels.
std::optional<graph::Dims> infer_head(const graph::InferContext& context, std::size_t h,
                                      const graph::Dims& w, std::size_t labels);

// Some classes, and their part of the derivative: `rows` rows of `length` elements that lie
// together, in the derivative from element `first` on and then `step` elements apart.
template <class C>
struct HeadBlock {
  C* derivative;
  std::int64_t rows, length, first, step;
  std::int64_t first_class, classes;
};

template <class C>
class HeadGradient {
 public:
  // `extra`: bytes that each call of `take` has for itself. `checks` labels; without it those that
  // are no classes do not count.
  HeadGradient(graph::BindContext& context, Scratch& scratch, const HeadInputs& inputs,
               std::size_t extra, bool checks);

  // Elements of the largest block, for a given w.
  static std::int64_t most_elements(const graph::NodeView& node, const Shape& w);

  // take(block, extra) for each block, from several threads. A block reads its own classes of w
  // alone and is done with them before.
  template <class Take>
  void run(graph::KernelContext& call, const Take& take) const {
    const Rows rows = gather(call);
    const C* const w = w_(call);
    math::ScratchPool({Scratch::at<std::byte>(call, slots_at_), slots_}, slot_)
        .for_chunks(call.pool(), blocks_, 1,
                    [&](std::byte* slot, std::int64_t first, std::int64_t last) {
                      for (auto block = first; block < last; ++block) {
                        take(differentiate(call, rows, w, block, slot), slot + extra_at_);
                      }
                    });
  }

  std::string_view name() const { return products_.front()[0].scores.name(); }
  std::string_view isa() const { return products_.front()[0].scores.isa(); }

 private:
  // Products of a block of classes and a number of rows.
  struct Products {
    math::GemmPrimitive<C> scores;      // [classes, rows]
    math::GemmPrimitive<C> derivative;  // like w
  };
  // Rows that count, one after the other, filled up with zeros.
  struct Rows {
    const C* h;
    const C* logarithms;
    const std::int64_t* labels;
    std::int64_t count;
    C scale;
  };

  void make_products(const graph::BindContext& context);
  Rows gather(graph::KernelContext& call) const;
  std::int64_t block_size(std::int64_t block) const;
  // Writes the derivative of a block to the start of the slot.
  HeadBlock<C> differentiate(graph::KernelContext& call, const Rows& rows, const C* w,
                             std::int64_t block, std::byte* slot) const;
  void differentiate_scores(const Rows& rows, std::int64_t first_row, std::int64_t padded,
                            std::int64_t block, C* scores) const;

  HeadInputs inputs_;
  LossShape shape_;
  std::int64_t depth_;
  bool class_rows_;
  bool int64_labels_;
  bool checks_;
  ComputeIn<C> dloss_, h_, w_, logarithms_;
  std::vector<std::array<Products, 2>> products_;  // by rows; of the last block and the others
  std::int64_t blocks_ = 0;
  // The workspace, and that of a task.
  std::size_t rows_at_ = 0, logarithms_at_ = 0, labels_at_ = 0, slots_at_ = 0, slots_ = 0;
  std::size_t scores_at_ = 0, work_at_ = 0, work_ = 0, extra_at_ = 0, slot_ = 0;
};

extern template class HeadGradient<float>;
extern template class HeadGradient<double>;

}  // namespace ondine::kernels
