// The precision of arithmetic.
#pragma once

#include <cstdint>

#include <ondine/export.h>

namespace ondine {

// Precision of products of float32 tensors: MatMul, Gemm, Einsum, attention, recurrent layers and
// convolutions.
enum class Precision : std::uint8_t {
  float32,
  // Factors are rounded to bfloat16 (8 bits of precision) and the products accumulated in
  // float32, where the processor has AVX512-BF16; all else, weights and their updates among it, is
  // computed in float32. Small products, depthwise convolutions, those of few channels, subgraphs
  // of control flow and processors without it use float32. Results of 64 kB and more of matrix
  // products, pointwise and depthwise convolutions are rounded, too, where all that reads them
  // (products, normalizations, element-wise operators) takes that, and with them what element-wise
  // operators compute of rounded values alone; sums with a float32 tensor stay in float32. Frozen
  // matrices of a mapped model file that such products read are held in bfloat16; small products
  // and lookups (Gather) of the same matrix then get its rounded elements, exports those of the
  // file. Large values that wait while most memory is in use, as activations do for the backward
  // pass, are stored as bfloat16 on every processor.
  // Results have the same bits for any number of threads.
  bfloat16,
  // As bfloat16, but products of 16 rows or more with frozen matrices of 65,536 elements or more
  // multiply 8-bit integers, on every processor. Each row of the activations, or of their
  // gradients, gets a scale when it is read (its largest magnitude / 127), and so does each output
  // channel of a matrix. Sums are exact in int32; the scales multiply them in float32. A row or a
  // column with a number that is not finite gives NaN. Floating point matrices are held in 8 bits,
  // so that products of fewer rows and lookups of the same matrix read the rounded elements;
  // exports write those of the file. The derivative of a loss by scores, and all that trains, keep
  // bfloat16: rounding to 8 bits would lose small probabilities and updates.
  int8,
};

// Whether this processor computes products in it; where not they are computed in float32. Every
// processor computes those of int8; what int8 leaves to bfloat16 needs has_precision(bfloat16).
ONDINE_API bool has_precision(Precision precision) noexcept;

}  // namespace ondine
