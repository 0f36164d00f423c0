// How an operator on frozen weights holds its matrix b: as a tensor of its element type, or packed,
// two or four elements a byte. In the packed form, which passes write for what a file or the model
// holds so, b is the bytes (uint8, rank 1), the attribute packed_type is the element type and
// packed_shape has the rows and columns.
#pragma once

#include <array>
#include <optional>

#include "graph/contract/infer.h"
#include "graph/contract/kernel.h"

namespace ondine::kernels {

// b is input `index`. Error(mismatch) for a packed form that is none.
bool is_packed_matrix(const graph::NodeView& node);
DType matrix_dtype(const graph::InferContext& context, std::size_t index);
DType matrix_dtype(const graph::BindContext& context, std::size_t index);
std::optional<graph::Dims> matrix_dims(const graph::InferContext& context, std::size_t index);
Shape matrix_shape(const graph::BindContext& context, std::size_t index);

// The numbers that elements of 4 bits mean without a scale, by their bits: the attribute `levels`,
// or those of the dtype, int4 or uint4.
std::array<float, 16> levels_of_nibbles(const graph::NodeView& node, DType dtype);

// The elements of b one a byte, by operators of the standard.
graph::Val unpacked_matrix(const graph::ExpandContext& context, std::size_t index);

}  // namespace ondine::kernels
