#include <cmath>

#include "core/float_formats.h"
#include "kernels/matmul/gemm_primitive.h"
#include "kernels/simd/tables.h"
#include "tests/kernels/common/guarded.h"
#include "tests/kernels/common/math_test.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {

using Index = std::int64_t;

// A factor as it is and in bfloat16.
class Factor {
 public:
  Factor(const std::vector<float>& elements, Guard guard)
      : whole_(elements, guard), rounded_(rounded(elements), guard) {}
  Elements<const float> elements(Storage storage) const {
    if (storage == Storage::bf16) return rounded_.data();
    return whole_.data();
  }

 private:
  static std::vector<bfloat16> rounded(const std::vector<float>& elements) {
    std::vector<bfloat16> result;
    for (const float x : elements) result.push_back(to_bfloat16(x));
    return result;
  }
  Guarded<float> whole_;
  Guarded<bfloat16> rounded_;
};

void check_product(const GemmShape& s, const SimdTables& kernels, Guard guard,
                   bool has_row_bias = true) {
  INFO(isa_name(kernels) << " " << s.m << " x " << s.n << " x " << s.k << " transposed "
                         << s.trans_a << s.trans_b << " in bytes "
                         << element_bytes<float>(s.a_stored) << element_bytes<float>(s.b_stored));
  Numbers numbers(static_cast<std::uint64_t>(s.m + s.n + s.k));
  const auto a = numbers.row<float>(s.m * s.k);
  const auto b = numbers.row<float>(s.k * s.n);
  const Factor left(a, guard), right(b, guard);
  const Guarded<float> rows(std::vector<float>(static_cast<std::size_t>(s.m), 1), guard);
  const Guarded<float> columns(std::vector<float>(static_cast<std::size_t>(s.n), 2), guard);
  const Guarded<float> c(std::vector<float>(static_cast<std::size_t>(s.m * s.n), 9), guard);
  const GemmPrimitive<float> gemm(s, 1, 1, kernels);
  ThreadPool pool(1);
  const Scratch scratch(gemm.workspace());
  gemm.run(pool, {}, left.elements(s.a_stored), right.elements(s.b_stored), c.data(),
           {.col_bias = columns.data(), .row_bias = has_row_bias ? rows.data() : nullptr},
           Workspace(scratch));
  CHECK(scratch.intact());
  double worst = 0;
  for (Index i = 0; i < s.m; ++i) {
    for (Index j = 0; j < s.n; ++j) {
      double sum = has_row_bias ? 3 : 2;
      for (Index p = 0; p < s.k; ++p) {
        sum += double{a[static_cast<std::size_t>(s.trans_a ? p * s.m + i : i * s.k + p)]} *
               double{b[static_cast<std::size_t>(s.trans_b ? j * s.k + p : p * s.n + j)]};
      }
      worst = std::max(worst, std::abs(sum - double{c.data()[i * s.n + j]}));
    }
  }
  const bool rounds = s.b_stored == Storage::bf16 || GemmPrimitive<float>::takes_bf16(s, kernels);
  CHECK(worst < (rounds ? 0.01 : 1e-5) * (1 + std::sqrt(static_cast<double>(s.k))));
}

}  // namespace

TEST_CASE("products read and write nothing beside their operands") {
  std::vector<const SimdTables*> sets = all_kernels();
  if (const auto* lower = simd_tables_for(Isa::avx512, ProductMode::bf16)) sets.push_back(lower);
  for (const SimdTables* kernels : sets) {
    for (const Index m : {1, 3, 4, 13, 17, 50}) {
      for (const Index n : {1, 7, 16, 17, 33, 65}) {
        for (const Index k : {1, 5, 16, 17, 33, 47}) {
          for (unsigned form = 0; form < 16; ++form) {
            GemmShape s{.m = m, .n = n, .k = k};
            s.trans_a = (form & 1) != 0;
            s.trans_b = (form & 2) != 0;
            if ((form & 4) != 0) s.a_stored = Storage::bf16;
            if ((form & 8) != 0) s.b_stored = Storage::bf16;
            const bool takes = (form & 4) != 0 || !GemmPrimitive<float>::widens_b(s, *kernels)
                                   ? GemmPrimitive<float>::takes_bf16(s, *kernels)
                                   : true;
            if (form >= 4 && !takes) continue;
            for (const Guard guard : both_guards) check_product(s, *kernels, guard);
          }
        }
      }
    }
  }
}

TEST_CASE("few rows by a transposed factor read and write nothing beside their operands") {
  for (const SimdTables* kernels : all_kernels()) {
    for (const Index m : {8, 16, 32}) {
      for (const Index n : {48, 65, 151}) {
        for (const Index k : {64, 77, 300}) {
          const GemmShape s{.m = m, .n = n, .k = k, .trans_b = true};
          for (const Guard guard : both_guards) check_product(s, *kernels, guard, false);
        }
      }
    }
  }
}

TEST_CASE("large factors by columns are packed within their bounds") {
  for (const SimdTables* kernels : all_kernels()) {
    for (const Guard guard : both_guards) {
      for (const Index n : {17, 40}) {
        check_product({.m = 133, .n = n, .k = 300, .trans_a = true}, *kernels, guard);
        check_product({.m = 133, .n = n, .k = 2003, .trans_a = true}, *kernels, guard);
      }
    }
  }
}

TEST_CASE("blocks of many terms are packed within their bounds") {
  for (const SimdTables* kernels : all_kernels()) {
    for (const Guard guard : both_guards) {
      for (const Index n : {17, 40}) {
        check_product({.m = 133, .n = n, .k = 2003, .trans_b = true}, *kernels, guard);
        check_product({.m = 133, .n = n, .k = 4500, .trans_b = true}, *kernels, guard);
      }
    }
  }
}
