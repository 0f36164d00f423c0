#include "tests/kernels/conv/guarded_elements.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

// Windows of two vectors begin anywhere in a plane.
TEST_CASE("joined columns read nothing behind the last plane") {
  const Kernels* const kernels = kernels_for(Isa::avx512);
  if (kernels == nullptr) return;
  for (const Index size : {1, 2, 3, 4, 5, 6, 7, 8}) {
    const ConvShape s = shape2(17, 21, 18, 1, size, size, 3, 3, 1, 1, 1, 1);
    const ConvCase<float> c(s);
    const GuardedElements x(c.x, GuardedElements::Guard::behind);
    for (const auto direction : {ConvDirection::forward, ConvDirection::backward_weights}) {
      const ConvDesc desc{s, direction};
      INFO(to_string(s) << " direction " << static_cast<int>(direction));
      const auto primitive = ConvPrimitive<float>::make(desc, 1, "joined_columns", *kernels);
      ThreadPool pool(1);
      Scratch scratch(primitive.workspace());
      const std::vector<double> expected = c.expected(desc, false);
      std::vector<float> result(expected.size());
      ConvArgs<float> args = c.args(false, result.data());
      args.x = x.data();
      primitive.run(pool, args, scratch);
      CHECK(worst_error(result, expected) < 2 * tolerance<float>);
    }
  }
}
