// Elements right before or behind memory that nobody may read.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include "tests/kernels/conv/conv_oracle.h"

namespace ondine::math::test {

class GuardedElements {
 public:
  enum class Guard { before, behind };

  GuardedElements(const std::vector<float>& elements, Guard guard)
      : bytes_((elements.size() * sizeof(float) + page - 1) / page * page) {
    memory_ =
        mmap(nullptr, bytes_ + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory_ != MAP_FAILED);
    auto* const start = static_cast<std::byte*>(memory_);
    const bool before = guard == Guard::before;
    REQUIRE(mprotect(before ? start : start + bytes_, page, PROT_NONE) == 0);
    data_ = before ? reinterpret_cast<float*>(start + page)
                   : reinterpret_cast<float*>(start + bytes_) - elements.size();
    std::copy(elements.begin(), elements.end(), data_);
  }
  ~GuardedElements() { munmap(memory_, bytes_ + page); }
  GuardedElements(const GuardedElements&) = delete;
  GuardedElements& operator=(const GuardedElements&) = delete;

  float* data() const { return data_; }

 private:
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::size_t bytes_;
  void* memory_;
  float* data_;
};

// What the implementation `name` computes from operands beside such memory, with a result there.
inline void check_guarded(const ConvCase<float>& c, const ConvDesc& desc, std::string_view name,
                          GuardedElements::Guard guard, const Kernels& kernels,
                          double most = 2 * tolerance<float>) {
  INFO(name << " " << isa_name(kernels) << " " << to_string(desc.shape) << " direction "
            << static_cast<int>(desc.direction) << " guard " << static_cast<int>(guard));
  const bool biased = desc.direction != ConvDirection::backward_weights;
  const std::vector<double> expected = c.expected(desc, biased);
  const GuardedElements x(c.x, guard), w(c.w, guard), dy(c.dy, guard);
  const auto channels =
      desc.direction == ConvDirection::forward ? desc.shape.out_channels : desc.shape.in_channels;
  const GuardedElements bias({c.bias.begin(), c.bias.begin() + channels}, guard);
  const GuardedElements result(std::vector<float>(expected.size(), 5), guard);
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
