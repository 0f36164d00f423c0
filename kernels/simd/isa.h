// The numerics are built for several instruction sets; the best one is chosen when the program
// runs.
#pragma once

#include <cstdint>

namespace ondine::math {

enum class Isa : std::uint8_t { baseline, avx2, avx512 };

// The functions of one instruction set. Immutable, lives for ever.
struct Kernels;

// The functions of the best set that the processor has, chosen at the first call. The environment
// variable ONDINE_ISA (baseline, avx2 or avx512) selects a lower one; a set that the processor
// lacks is ignored.
const Kernels& kernels() noexcept;

// nullptr when the build or the processor does not have the set.
const Kernels* kernels_for(Isa isa) noexcept;

const char* isa_name(const Kernels& kernels) noexcept;

}  // namespace ondine::math
