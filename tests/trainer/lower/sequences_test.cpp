// Lowered derivatives by sequences.
#include <catch2/catch.hpp>

#include "tests/trainer/lower/lowered_steps.h"

using namespace ondine;
using namespace ondine::test;

namespace {

using Ints = std::vector<std::int64_t>;

std::string index(ModelBuilder& b, const std::string& name, std::int64_t value) {
  return b.initializer(name, Tensor::scalar(value));
}

// x w, cut along axis 1: at `sizes`, or with none into columns without that axis.
std::string parts(ModelBuilder& b, const std::string& x, const Ints& sizes) {
  const std::string h = b.node("MatMul", {x, b.initializer("w", random_floats({6, 6}, 5))});
  if (sizes.empty()) return b.node("SplitToSequence", {h}, {{"axis", 1}, {"keepdims", 0}});
  const auto count = static_cast<std::int64_t>(sizes.size());
  const std::string at = b.initializer("sizes", Tensor::of<std::int64_t>({count}, sizes));
  return b.node("SplitToSequence", {h, at}, {{"axis", 1}});
}

}  // namespace

TEST_CASE("lowered derivatives of elements of sequences follow the training") {
  const Shape x{4, 6};
  check_network(x, {4, 2}, [](ModelBuilder& b, const std::string& in) {
    const std::string all = parts(b, in, {2, 2, 2});
    const std::string first = b.node("SequenceAt", {all, index(b, "i0", 0)});
    const std::string second = b.node("SequenceAt", {all, index(b, "i1", 1)});
    const std::string last = b.node("SequenceAt", {all, index(b, "i2", -1)});
    return b.node("Add", {b.node("Mul", {first, second}), last});
  });
  check_network(x, {4}, [](ModelBuilder& b, const std::string& in) {
    const std::string all = parts(b, in, {});
    const std::string first = b.node("SequenceAt", {all, index(b, "i0", 1)});
    const std::string second = b.node("SequenceAt", {all, index(b, "i1", 4)});
    return b.node("Mul", {first, second});
  });
}

TEST_CASE("lowered derivatives of joined sequences follow the training") {
  const Shape x{4, 6};
  check_network(x, {4, 9}, [](ModelBuilder& b, const std::string& in) {
    const std::string all = parts(b, in, {1, 2, 3});
    const std::string last = b.node("SequenceAt", {all, index(b, "i0", -1)});
    const std::string longer =
        b.node("SequenceInsert", {all, b.node("Mul", {last, last}), index(b, "i1", 1)});
    return b.node("ConcatFromSequence", {longer}, {{"axis", 1}});
  });
  check_network(x, {4, 5}, [](ModelBuilder& b, const std::string& in) {
    const std::string fewer = b.node("SequenceErase", {parts(b, in, {}), index(b, "i0", 2)});
    return b.node("ConcatFromSequence", {fewer}, {{"axis", -1}, {"new_axis", 1}});
  });
}
