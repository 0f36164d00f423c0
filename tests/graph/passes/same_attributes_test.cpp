#include "graph/passes/same_attributes.h"

#include <catch2/catch.hpp>

#include <limits>
#include <memory>

using namespace ondine;
using namespace ondine::graph;

namespace {

bool same(Attribute::Data a, Attribute::Data b) {
  const Attributes first{Attribute("k", std::move(a))};
  const Attributes second{Attribute("k", std::move(b))};
  const bool result = same_attributes(first, second);
  if (result) CHECK(hash_of(first) == hash_of(second));
  return result;
}

}  // namespace

TEST_CASE("attributes are the same when their values have the same bits") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  using Ints = std::vector<std::int64_t>;
  using Reals = std::vector<float>;
  using Texts = std::vector<std::string>;
  CHECK(same(std::int64_t{3}, std::int64_t{3}));
  CHECK_FALSE(same(std::int64_t{3}, std::int64_t{4}));
  CHECK(same(nan, nan));
  CHECK_FALSE(same(0.0F, -0.0F));
  CHECK_FALSE(same(1.0F, std::int64_t{1}));
  CHECK(same(std::string("a"), std::string("a")));
  CHECK_FALSE(same(std::string("a"), std::string("b")));
  CHECK(same(Tensor::scalar(1.0F), Tensor::scalar(1.0F)));
  CHECK_FALSE(same(Tensor::scalar(1.0F), Tensor::scalar(2.0F)));
  CHECK_FALSE(same(Tensor::scalar(1.0F), Tensor::of<float>({1}, {1})));
  CHECK(same(Ints{1, 2}, Ints{1, 2}));
  CHECK_FALSE(same(Ints{1, 2}, Ints{1}));
  CHECK_FALSE(same(Ints{1}, Ints{1, 2}));
  CHECK_FALSE(same(Ints{1, 2}, Ints{2, 1}));
  CHECK(same(Reals{0.5F}, Reals{0.5F}));
  CHECK_FALSE(same(Reals{0.5F}, Reals{0.25F}));
  CHECK(same(Texts{"a", "b"}, Texts{"a", "b"}));
  CHECK_FALSE(same(Texts{"a", "b"}, Texts{"a", "c"}));
  CHECK_FALSE(same(Ints{}, Reals{}));
}

TEST_CASE("graphs, sparse tensors and types count as different") {
  const auto graph = std::make_shared<const GraphDef>();
  CHECK_FALSE(same(graph, graph));
  CHECK_FALSE(same(TypeDef(), TypeDef()));
  CHECK_FALSE(same(SparseTensorDef(), SparseTensorDef()));
}

TEST_CASE("attributes are found by name, in any order, none of them more than the other has") {
  const Attributes both{{"a", std::int64_t{1}}, {"b", 2.0F}};
  const Attributes turned{{"b", 2.0F}, {"a", std::int64_t{1}}};
  const Attributes one{{"a", std::int64_t{1}}};
  const Attributes other{{"a", std::int64_t{1}}, {"c", 2.0F}};
  CHECK(same_attributes(both, turned));
  CHECK(hash_of(both) == hash_of(turned));
  CHECK_FALSE(same_attributes(both, one));
  CHECK_FALSE(same_attributes(one, both));
  CHECK_FALSE(same_attributes(both, other));
  CHECK(same_attributes({}, {}));
}

TEST_CASE("equal tensors have equal hashes, also of strings") {
  const Tensor floats = Tensor::of<float>({2}, {1, 2});
  CHECK(hash_of(floats) == hash_of(Tensor::of<float>({2}, {1, 2})));
  CHECK(hash_of(floats) != hash_of(Tensor::of<float>({2}, {1, 3})));
  const Tensor texts = Tensor::of<std::string>({2}, {"a", "b"});
  CHECK(hash_of(texts) == hash_of(Tensor::of<std::string>({2}, {"a", "b"})));
  CHECK(hash_of(texts) != hash_of(Tensor::of<std::string>({2}, {"a", "c"})));
}
