#include <sys/mman.h>
#include <unistd.h>

#include "tests/kernels/conv/conv_oracle.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {

// Elements right before memory that nobody may read.
class GuardedRow {
 public:
  explicit GuardedRow(const std::vector<float>& elements)
      : bytes_((elements.size() * sizeof(float) + page - 1) / page * page) {
    memory_ =
        mmap(nullptr, bytes_ + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory_ != MAP_FAILED);
    auto* const end = static_cast<std::byte*>(memory_) + bytes_;
    REQUIRE(mprotect(end, page, PROT_NONE) == 0);
    data_ = reinterpret_cast<float*>(end) - elements.size();
    std::copy(elements.begin(), elements.end(), data_);
  }
  ~GuardedRow() { munmap(memory_, bytes_ + page); }
  GuardedRow(const GuardedRow&) = delete;
  GuardedRow& operator=(const GuardedRow&) = delete;

  const float* data() const { return data_; }

 private:
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::size_t bytes_;
  void* memory_;
  float* data_;
};

}  // namespace

// Windows of two vectors begin anywhere in a plane.
TEST_CASE("joined columns read nothing behind the last plane") {
  const Kernels* const kernels = kernels_for(Isa::avx512);
  if (kernels == nullptr) return;
  for (const Index size : {1, 2, 3, 4, 5, 6, 7, 8}) {
    const ConvShape s = shape2(17, 21, 18, 1, size, size, 3, 3, 1, 1, 1, 1);
    const ConvCase<float> c(s);
    const GuardedRow x(c.x);
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
