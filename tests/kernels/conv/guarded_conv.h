// Convolutions of operands beside memory that nobody may read.
#pragma once

#include "tests/kernels/common/guarded.h"
#include "tests/kernels/conv/conv_oracle.h"

namespace ondine::math::test {

// Checks the implementation `name` on operands and a result beside guarded memory.
inline void check_guarded(const ConvCase<float>& c, const ConvDesc& desc, std::string_view name,
                          Guard guard, const SimdTables& kernels,
                          double most = 2 * tolerance<float>) {
  INFO(name << " " << isa_name(kernels) << " " << to_string(desc.shape) << " direction "
            << static_cast<int>(desc.direction) << " guard " << static_cast<int>(guard));
  const bool biased = desc.direction != ConvDirection::backward_weights;
  const std::vector<double> expected = c.expected(desc, biased);
  const Guarded<float> x(c.x, guard), w(c.w, guard), dy(c.dy, guard);
  const auto channels =
      desc.direction == ConvDirection::forward ? desc.shape.out_channels : desc.shape.in_channels;
  const Guarded<float> bias({c.bias.begin(), c.bias.begin() + channels}, guard);
  const Guarded<float> result(std::vector<float>(expected.size(), 5), guard);
  const auto primitive = ConvPrimitive<float>::make(desc, 1, name, kernels);
  ThreadPool pool(1);
  Scratch scratch(primitive.workspace());
  primitive.run(pool,
                {x.data(), w.data(), dy.data(), biased ? bias.data() : nullptr, result.data()},
                scratch);
  CHECK(scratch.intact());
  const std::vector<float> found(result.data(), result.data() + expected.size());
  CHECK(worst_error(found, expected) < most);
}

}  // namespace ondine::math::test
