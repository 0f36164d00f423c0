#include "kernels/simd/isa.h"

#include <cstdlib>
#include <string_view>

#include "kernels/simd/conv/conv_table.h"
#include "kernels/simd/exact/exact_kernels.h"
#include "kernels/simd/tables.h"

namespace ondine::math {
namespace {

const Kernels& choose() noexcept {
  const char* const variable = std::getenv("ONDINE_ISA");
  const std::string_view wanted = variable ? variable : "";
  for (const Isa isa : {Isa::avx512, Isa::avx2}) {
    const Kernels* const candidate = kernels_for(isa);
    if (!candidate) continue;
    if (wanted == "baseline" || (wanted == "avx2" && isa == Isa::avx512)) continue;
    return *candidate;
  }
  return baseline::table;
}

#ifdef ONDINE_WITH_AVX512_BF16
Kernels with_bf16_products(Kernels kernels) noexcept {
  kernels.isa = Isa::avx512_bf16;
  kernels.name = "avx512_bf16";
  kernels.f32.gemm = &avx512_bf16::gemm_f32;
  static const WinogradKernels<float> winograd = [&] {
    WinogradKernels<float> table = *kernels.f32.winograd;
    avx512_bf16::round_components(table);
    return table;
  }();
  kernels.f32.winograd = &winograd;
  return kernels;
}
#endif

}  // namespace

const Kernels* kernels_for(Isa isa) noexcept {
  switch (isa) {
    case Isa::baseline:
      return &baseline::table;
    case Isa::avx2:
#ifdef ONDINE_WITH_AVX2
      if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
          __builtin_cpu_supports("bmi2")) {
        return &avx2::table;
      }
#endif
      return nullptr;
    case Isa::avx512:
#ifdef ONDINE_WITH_AVX512
      if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
          __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) {
        return &avx512::table;
      }
#endif
      return nullptr;
    case Isa::avx512_bf16:
#ifdef ONDINE_WITH_AVX512_BF16
      if (kernels_for(Isa::avx512) != nullptr && __builtin_cpu_supports("avx512bf16")) {
        static const Kernels table = with_bf16_products(avx512::table);
        return &table;
      }
#endif
      return nullptr;
  }
  return nullptr;
}

const Kernels& kernels(Precision precision) noexcept {
  const Kernels& full = kernels();
  if (precision == Precision::float32 || full.isa != Isa::avx512) return full;
  const Kernels* const lower = kernels_for(Isa::avx512_bf16);
  return lower != nullptr ? *lower : full;
}

const Kernels& full_precision(const Kernels& kernels) noexcept {
  const bool lower = kernels.isa == Isa::avx512_bf16;
  return lower ? *kernels_for(Isa::avx512) : kernels;
}

const Kernels& kernels() noexcept {
  static const Kernels& chosen = choose();
  return chosen;
}

Int8GemmList int8_gemm_implementations(const Kernels& kernels) noexcept {
#ifdef ONDINE_WITH_AVX512_VNNI
  const bool wide = kernels.isa == Isa::avx512 || kernels.isa == Isa::avx512_bf16;
  if (wide && __builtin_cpu_supports("avx512vnni")) {
    return {&avx512_vnni::int8_gemm, kernels.int8_gemm};
  }
#endif
  return {kernels.int8_gemm, nullptr};
}

const ExactKernels& exact_kernels(const Kernels& kernels) noexcept {
  switch (kernels.isa) {
    case Isa::baseline:
      break;
    case Isa::avx2:
#ifdef ONDINE_WITH_AVX2
      return avx2::exact_kernels;
#else
      break;
#endif
    case Isa::avx512:
    case Isa::avx512_bf16:
#ifdef ONDINE_WITH_AVX512
      return avx512::exact_kernels;
#else
      break;
#endif
  }
  return baseline::exact_kernels;
}

const char* isa_name(const Kernels& kernels) noexcept { return kernels.name; }

}  // namespace ondine::math
