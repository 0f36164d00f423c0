// The matrix of a head, for products with some of its classes at a time.
#pragma once

#include <optional>

#include "kernels/common/stored_input.h"
#include "kernels/quantize/dequantized_rows.h"

namespace ondine::kernels {

// Whether w is [classes, depth] and not [depth, classes].
inline bool has_class_rows(const graph::NodeView& node) {
  return node.attr_int("transposed", 0) != 0;
}

// Input `index` is w, in floating point numbers or as DequantizeMatMul takes it, with scale and
// zero point behind it. Products read w where it lies if they can, all classes at once. Otherwise a
// block of classes after the other is widened, so that w is never held so as a whole.
template <class C>
class HeadMatrix {
 public:
  // `rounded`: products take w in bfloat16.
  HeadMatrix(graph::BindContext& context, Scratch& scratch, std::size_t index, bool rounded);

  std::int64_t depth() const noexcept { return depth_; }
  std::int64_t classes() const noexcept { return classes_; }
  math::Storage storage() const noexcept { return storage_; }
  std::int64_t blocks() const noexcept { return blocks_; }
  // Classes of the last block, and of each other one.
  std::int64_t last_size() const noexcept { return classes_ - (blocks_ - 1) * size_; }
  std::int64_t size() const noexcept { return size_; }

  // The memory that one call reads.
  struct Source {
    math::Elements<const C> whole;  // null: it is widened
    DequantizedRows::Source stored;
  };
  Source source(graph::KernelContext& call) const;
  // The classes of a block, laid out as w is with these classes alone, or where w lies.
  math::Elements<const C> read(graph::KernelContext& call, const Source& source,
                               std::int64_t block) const;

 private:
  std::int64_t classes_, depth_;
  bool class_rows_;
  math::Storage storage_;
  std::optional<StoredIn<C>> whole_;
  std::optional<DequantizedRows> stored_;
  std::int64_t size_, blocks_ = 1;
  std::size_t block_at_ = 0;
};

extern template class HeadMatrix<float>;
extern template class HeadMatrix<double>;

// Checks w and returns its dims.
graph::Dims infer_head_matrix(const graph::InferContext& context, std::size_t index);
// Whether w has a scale or is packed.
bool is_quantized_head(const graph::NodeView& node, std::size_t index);

}  // namespace ondine::kernels
