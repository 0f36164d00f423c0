// Functions of the table in exact_kernels.cpp.
#pragma once

#include "kernels/simd/exact/exact_kernels.h"

namespace ondine::math::ONDINE_ISA {

void normal_groups(float* to, const RandomKey& key, std::uint64_t first, std::int64_t groups);
std::int64_t box_muller(float* to, const NormalRun& run, std::int32_t* doubtful);
void fourier_lines_of(const FourierTables& tables, const FourierLines& lines, double* scratch);

}  // namespace ondine::math::ONDINE_ISA
