// Sparse tensors that contradict themselves.
#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include <ondine/error.h>

#include "graph/ir/document.h"
#include "proto/import.h"
#include "tests/proto/wire.h"

using namespace ondine;
using test::Wire;

namespace {

using Int64s = std::vector<std::int64_t>;

Wire integers(const Int64s& dims, const Int64s& values) {
  Wire tensor;
  for (const auto extent : dims) tensor.number(1, static_cast<std::uint64_t>(extent));
  tensor.number(2, 7);
  for (const auto value : values) tensor.number(7, static_cast<std::uint64_t>(value));
  return tensor;
}

// `count` values of 1, at `indices`, in a tensor of shape `dims`.
Wire sparse(std::int64_t count, const Int64s& index_dims, const Int64s& indices,
            const Int64s& dims) {
  Wire values = integers({count}, Int64s(static_cast<std::size_t>(count), 1));
  Wire out = Wire().message(1, values.block(8, "culprit"));
  out.message(2, integers(index_dims, indices));
  for (const auto extent : dims) out.number(3, static_cast<std::uint64_t>(extent));
  return out;
}

graph::SparseTensorDef load(const Wire& sparse) {
  const Wire graph = Wire().block(2, "g").message(15, sparse);
  return load_model(Wire().number(1, 10).message(7, graph).bytes()).graph.sparse_initializers[0];
}

void refused(const Wire& sparse, const std::string& rule) {
  CHECK_THROWS_WITH(load(sparse), Catch::Contains("culprit") && Catch::Contains(rule));
}

}  // namespace

TEST_CASE("both forms of indices give the positions of values") {
  const Tensor linear = densify(load(sparse(2, {2}, {1, 5}, {2, 3})));
  const Tensor pairs = densify(load(sparse(2, {2, 2}, {0, 1, 1, 2}, {2, 3})));
  CHECK(linear.identical(pairs));
  const auto values = linear.values<std::int64_t>();
  CHECK(Int64s(values.begin(), values.end()) == Int64s{0, 1, 0, 0, 0, 1});
  CHECK(densify(load(sparse(0, {0}, {}, {2}))).size() == 2);
  CHECK(densify(load(sparse(0, {0, 2}, {}, {0, 4}))).size() == 0);
}

TEST_CASE("indices of a sparse tensor are inside its shape, ascending and one for each value") {
  refused(sparse(1, {1}, {6}, {2, 3}), "outside its shape");
  refused(sparse(1, {1}, {-1}, {2, 3}), "outside its shape");
  refused(sparse(1, {1}, {INT64_MAX}, {2, 3}), "outside its shape");
  refused(sparse(1, {1, 2}, {0, 3}, {2, 3}), "outside its shape");
  refused(sparse(1, {1, 2}, {-1, 0}, {2, 3}), "outside its shape");
  refused(sparse(1, {1, 2}, {0, INT64_MIN}, {2, 3}), "outside its shape");
  refused(sparse(1, {1}, {0}, {0}), "outside its shape");
  refused(sparse(2, {2}, {3, 3}, {2, 3}), "do not ascend");
  refused(sparse(2, {2}, {3, 2}, {2, 3}), "do not ascend");
  refused(sparse(2, {2, 2}, {1, 0, 0, 2}, {2, 3}), "do not ascend");
  refused(sparse(2, {1}, {0}, {2, 3}), "indices of shape [1]");
  refused(sparse(2, {2, 1}, {0, 1}, {2, 3}), "indices of shape [2, 1]");
  refused(sparse(2, {2, 3}, {0, 0, 0, 0, 0, 1}, {2, 3}), "indices of shape [2, 3]");
  refused(sparse(1, {}, {0}, {2, 3}), "indices of shape []");
}

TEST_CASE("dims of a sparse tensor are bounded, even if one of them is 0") {
  const std::int64_t large = std::int64_t{1} << 40;
  refused(sparse(1, {1}, {0}, {-2}), "negative");
  refused(sparse(1, {1}, {0}, {large, large}), "2^56");
  refused(sparse(1, {1, 3}, {large / 2, large / 2, 0}, {large, large, 0}), "2^56");
  refused(sparse(1, {1}, {0}, {large}), "bytes");
}

TEST_CASE("values and indices of a sparse tensor are there and of the right types") {
  const Wire values = integers({1}, {1}).block(8, "culprit");
  refused(Wire().message(1, values).number(3, 2), "no values or no indices");
  Wire floats;
  floats.number(1, 1).number(2, 1).packed_fixed<float>(4, {0});
  refused(Wire().message(1, values).message(2, floats).number(3, 2), "needed are int64");
  Wire square = integers({1, 1}, {1}).block(8, "culprit");
  refused(Wire().message(1, square).message(2, integers({1}, {0})).number(3, 2), "shape [1, 1]");
  CHECK_THROWS_WITH(load(Wire().message(2, integers({1}, {0})).number(3, 2)),
                    Catch::Contains("no values"));
}
