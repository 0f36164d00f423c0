// Short vectors of integers whose elements are known when the model is loaded.
#include <catch2/catch.hpp>

#include <ondine/build.h>
#include <ondine/model.h>

namespace ondine::test {
namespace {

// Result of `op` on the constant {4, 0, 7} with further inputs and attributes.
template <class T>
std::vector<T> moved(const std::string& op,
                     const std::vector<std::vector<std::int64_t>>& parameters, std::int64_t size,
                     const ModelBuilder::Attributes& attributes = {}) {
  ModelBuilder b("network");
  std::vector<std::string> inputs{b.initializer("x", Tensor::of<T>({3}, {4, 0, 7}))};
  for (const auto& one : parameters) {
    const auto count = static_cast<std::int64_t>(one.size());
    inputs.push_back(
        b.initializer("p" + std::to_string(inputs.size()), Tensor::of<std::int64_t>({count}, one)));
  }
  b.output(b.node(op, inputs, attributes), dtype_of<T>, {size});
  const Results results = Model::load(b.bytes()).infer({});
  const Tensor& tensor = results.begin()->second.tensor();
  REQUIRE(tensor.dtype() == dtype_of<T>);
  const auto values = tensor.values<T>();
  return {values.begin(), values.end()};
}

}  // namespace

TEMPLATE_TEST_CASE("operators that move known elements keep their type", "", std::int32_t,
                   std::int64_t) {
  using Elements = std::vector<TestType>;
  CHECK(moved<TestType>("Identity", {}, 3) == Elements{4, 0, 7});
  CHECK(moved<TestType>("Gather", {{2, 0}}, 2) == Elements{7, 4});
  CHECK(moved<TestType>("Slice", {{1}, {3}}, 2) == Elements{0, 7});
  CHECK(moved<TestType>("Concat", {}, 3, {{"axis", std::int64_t{0}}}) == Elements{4, 0, 7});
  CHECK(moved<TestType>("Reshape", {{3}}, 3) == Elements{4, 0, 7});
}

}  // namespace ondine::test
