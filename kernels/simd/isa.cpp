#include "kernels/simd/isa.h"

#include <cstdlib>
#include <string_view>

#include "core/system/processor.h"
#include "kernels/simd/conv/conv_table.h"
#include "kernels/simd/exact/exact_kernels.h"
#include "kernels/simd/tables.h"
#include "kernels/simd/vector/convert_table.h"

#ifdef ONDINE_WITH_AMX_BF16
#include <cpuid.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

namespace ondine::math {
namespace {

std::string_view wanted_isa() noexcept {
  const char* const variable = std::getenv("ONDINE_ISA");
  return variable ? variable : "";
}

const SimdTables& choose() noexcept {
  Isa best = Isa::amx;
  for (const Isa lower : {Isa::avx512, Isa::avx2, Isa::baseline}) {
    const SimdTables* const table = simd_tables_for(lower);
    if (table != nullptr && wanted_isa() == table->name) best = lower;
  }
  for (const Isa isa : {Isa::amx, Isa::avx512, Isa::avx2}) {
    const SimdTables* const table = simd_tables_for(isa);
    if (table != nullptr && isa <= best) return *table;
  }
  return baseline::table;
}

const SimdTables& choose_lower() noexcept {
  const SimdTables& full = simd_tables();
  const SimdTables* const lower = simd_tables_for(full.isa, ProductMode::bf16);
  return lower != nullptr ? *lower : full;
}

#ifdef ONDINE_WITH_AVX512
// With the instructions of the processor that give the same results.
SimdTables avx512_kernels() noexcept {
  SimdTables kernels = avx512::table;
#ifdef ONDINE_WITH_AVX512_BF16
  if (processor().avx512_bf16) {
    static const ConvertKernels convert = [&] {
      ConvertKernels table = *kernels.convert;
      avx512_bf16::round_by_instruction(table);
      return table;
    }();
    kernels.convert = &convert;
  }
#endif
  return kernels;
}
#endif

#ifdef ONDINE_WITH_AVX512_BF16
SimdTables with_bf16_products(Isa isa, const char* name, const GemmKernels<float>& gemm) noexcept {
  SimdTables kernels = avx512_kernels();
  kernels.isa = isa;
  kernels.products = ProductMode::bf16;
  kernels.name = name;
  kernels.f32.gemm = &gemm;
  kernels.attention_rows = &avx512_bf16::attention_rows;
  static const WinogradKernels<float> winograd = [&] {
    WinogradKernels<float> table = *kernels.f32.winograd;
    avx512_bf16::round_components(table);
    return table;
  }();
  kernels.f32.winograd = &winograd;
  // Processors with tiles multiply pairs in vectors more slowly than float32.
  if (isa == Isa::avx512) {
    kernels.f32.grouped_conv = &avx512_bf16::grouped_conv_f32;
    static const StridedConvKernels<float> strided = [&] {
      StridedConvKernels<float> table = *kernels.f32.strided_conv;
      avx512_bf16::pair_channels(table);
      return table;
    }();
    kernels.f32.strided_conv = &strided;
  }
  return kernels;
}
#endif

#ifdef ONDINE_WITH_AMX_BF16
// Whether the system keeps what this process has in tiles. Linux wants to be asked.
bool may_use_tiles() noexcept {
#ifdef __linux__
  constexpr long request_permission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long tile_data = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
#else
  return false;
#endif
}

bool has_amx_bf16() noexcept {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned amx_bf16 = 1u << 22;
  constexpr unsigned amx_tile = 1u << 24;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  return (d & amx_bf16) != 0 && (d & amx_tile) != 0 && may_use_tiles();
}
#endif

const SimdTables* avx2_kernels() noexcept {
#ifdef ONDINE_WITH_AVX2
  if (processor().avx2) return &avx2::table;
#endif
  return nullptr;
}

const SimdTables* avx512_kernels_in([[maybe_unused]] ProductMode mode) noexcept {
#ifdef ONDINE_WITH_AVX512
  if (mode == ProductMode::float32 && processor().avx512) {
    static const SimdTables table = avx512_kernels();
    return &table;
  }
#endif
#ifdef ONDINE_WITH_AVX512_BF16
  if (mode == ProductMode::bf16 && processor().avx512 && processor().avx512_bf16) {
    static const SimdTables table =
        with_bf16_products(Isa::avx512, "avx512_bf16", avx512_bf16::gemm_f32);
    return &table;
  }
#endif
  return nullptr;
}

const SimdTables* amx_kernels_in([[maybe_unused]] ProductMode mode) noexcept {
#ifdef ONDINE_WITH_AMX_BF16
  if (simd_tables_for(Isa::avx512, ProductMode::bf16) == nullptr) return nullptr;
  static const bool has = has_amx_bf16();
  if (has && mode == ProductMode::split) {
    static const SimdTables table = [] {
      SimdTables kernels = avx512_kernels();
      kernels.isa = Isa::amx;
      kernels.products = ProductMode::split;
      kernels.name = "amx";
      kernels.f32.gemm = &amx_bf16::split_gemm_f32;
      return kernels;
    }();
    return &table;
  }
  if (has && mode == ProductMode::bf16) {
    static const SimdTables table = [] {
      SimdTables kernels = with_bf16_products(Isa::amx, "amx_bf16", amx_bf16::tile_gemm_f32);
      kernels.shifted_conv = &amx_bf16::shifted_conv;
      return kernels;
    }();
    return &table;
  }
#endif
  return nullptr;
}

}  // namespace

const SimdTables* simd_tables_for(Isa isa, ProductMode mode) noexcept {
  switch (isa) {
    case Isa::baseline:
      return mode == ProductMode::float32 ? &baseline::table : nullptr;
    case Isa::avx2:
      return mode == ProductMode::float32 ? avx2_kernels() : nullptr;
    case Isa::avx512:
      return avx512_kernels_in(mode);
    case Isa::amx:
      break;
  }
  return amx_kernels_in(mode);
}

const SimdTables* simd_tables_for(Isa isa) noexcept {
  return simd_tables_for(isa, isa == Isa::amx ? ProductMode::split : ProductMode::float32);
}

const SimdTables& simd_tables(Precision precision) noexcept {
  if (precision == Precision::float32) return simd_tables();
  static const SimdTables& chosen = choose_lower();
  return chosen;
}

bool rounds_products(const SimdTables& kernels) noexcept {
  return kernels.products == ProductMode::bf16;
}

bool rounds_in_tiles(const SimdTables& kernels) noexcept {
  return rounds_products(kernels) && kernels.isa == Isa::amx;
}

const SimdTables& without(const SimdTables& kernels, ProductMode mode) noexcept {
  if (mode == ProductMode::float32 || kernels.products != mode) return kernels;
  return *simd_tables_for(mode == ProductMode::split ? Isa::avx512 : kernels.isa);
}

const SimdTables& simd_tables() noexcept {
  static const SimdTables& chosen = choose();
  return chosen;
}

Int8GemmList int8_gemm_implementations(const SimdTables& kernels) noexcept {
#ifdef ONDINE_WITH_AVX512_VNNI
  const bool wide = kernels.isa >= Isa::avx512;
  if (wide && processor().avx512_vnni) {
    return {&avx512_vnni::int8_gemm, kernels.int8_gemm};
  }
#endif
  return {kernels.int8_gemm, nullptr};
}

const ExactKernels& exact_kernels(const SimdTables& kernels) noexcept {
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
    case Isa::amx:
#ifdef ONDINE_WITH_AVX512
      return avx512::exact_kernels;
#else
      break;
#endif
  }
  return baseline::exact_kernels;
}

const char* isa_name(const SimdTables& kernels) noexcept { return kernels.name; }

}  // namespace ondine::math
