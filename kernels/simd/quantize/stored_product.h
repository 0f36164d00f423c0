// The product of the table in quantize.cpp that reads a matrix of few bits.
#pragma once

#include "kernels/simd/quantize/stored_product_table.h"

namespace ondine::math::ONDINE_ISA {

extern const StoredProductKernels stored_product;

}  // namespace ondine::math::ONDINE_ISA
