#include "kernels/simd/tables.h"
#include "tests/kernels/conv/guarded_conv.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {

std::vector<ConvShape> edge_shapes() {
  std::vector<ConvShape> all{
      // Groups, with channels that fill no vector, and that fill some.
      shape2(3, 12, 8, 4, 5, 7, 3, 3, 1, 1, 1, 1),
      shape2(2, 6, 15, 3, 9, 5, 5, 3, 1, 2, 3, 2),
      shape2(3, 34, 18, 2, 7, 9, 3, 3, 2, 1, 1, 1),
      shape2(1, 20, 20, 5, 6, 6, 1, 1, 1, 1, 0, 0),
      shape2(3, 8, 32, 1, 5, 14, 3, 3, 1, 1, 1, 1),
      // Tiles of Winograd convolutions beyond the edges.
      shape2(2, 17, 19, 1, 9, 7, 3, 3, 1, 1, 1, 1),
      shape2(1, 16, 33, 1, 8, 11, 3, 3, 1, 1, 0, 2),
      shape2(1, 131, 18, 1, 8, 9, 3, 3, 1, 1, 1, 1),
      // Few positions.
      shape2(2, 33, 5, 1, 3, 4, 3, 3, 1, 1, 1, 1),
      shape2(2, 37, 7, 1, 3, 3, 1, 1, 1, 1, 0, 0),
      shape2(3, 33, 17, 1, 7, 7, 1, 1, 1, 1, 0, 0),
      shape2(5, 34, 18, 2, 4, 5, 1, 1, 1, 1, 0, 0),
      shape2(3, 35, 19, 1, 1, 1, 1, 1, 1, 1, 0, 0),
      // Copies of planes.
      shape2(2, 3, 5, 1, 9, 21, 3, 3, 1, 1, 1, 1),
      shape2(2, 3, 5, 1, 9, 21, 5, 3, 1, 1, 4, 0),
      shape2(2, 3, 18, 1, 13, 15, 3, 3, 2, 1, 1, 1),
      shape2(2, 4, 66, 1, 12, 17, 3, 3, 2, 1, 1, 0),
      shape2(2, 5, 6, 1, 10, 13, 3, 3, 3, 2, 2, 2),
      shape2(1, 18, 20, 1, 6, 5, 2, 3, 1, 1, 0, 1),
  };
  for (const Index width : {3, 15, 17, 33}) {
    all.push_back(shape2(2, 5, 5, 5, 7, width, 3, 3, 1, 1, 1, 1));
    all.push_back(shape2(2, 5, 5, 5, 7, width, 3, 3, 2, 1, 1, 1));
    all.push_back(shape2(2, 5, 5, 5, 7, width, 3, 3, 1, 1, 0, 2));
    all.push_back(shape2(1, 19, 19, 19, 6, width, 5, 5, 1, 1, 2, 2));
    all.push_back(shape2(1, 2, 2, 2, 40, width, 5, 5, 2, 1, 3, 2));
  }
  return all;
}

}  // namespace

// Loads under masks, which no sanitizer sees, too.
TEST_CASE("no implementation of convolution reads or writes beside its operands") {
  std::vector<const SimdTables*> sets = all_kernels();
  if (const auto* lower = simd_tables_for(Isa::avx512, ProductMode::bf16)) sets.push_back(lower);
  for (const ConvShape& s : edge_shapes()) {
    const ConvCase<float> c(s);
    for (const SimdTables* kernels : sets) {
      for (const auto direction : {ConvDirection::forward, ConvDirection::backward_data,
                                   ConvDirection::backward_weights}) {
        const ConvDesc desc{s, direction};
        const auto check = [&](const ConvEntry<float>& entry, double most) {
          if (!entry.supports(desc, *kernels)) return;
          for (const auto guard : both_guards) {
            check_guarded(c, desc, entry.name, guard, *kernels, most);
          }
        };
        for (const auto& entry : lower_conv_implementations<float>()) check(entry, 0.05);
        if (rounds_products(*kernels)) continue;
        for (const auto& entry : conv_implementations<float>()) check(entry, 2 * tolerance<float>);
      }
    }
  }
}
