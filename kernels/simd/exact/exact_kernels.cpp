#include "kernels/simd/exact/exact_parts.h"

namespace ondine::math::ONDINE_ISA {

constinit const ExactKernels exact_kernels = {&normal_groups, &box_muller, &fourier_lines_of};

}  // namespace ondine::math::ONDINE_ISA
