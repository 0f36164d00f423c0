#include <ondine/eigen.h>

#include <catch2/catch.hpp>
#include <concepts>

#include "tests/support/tensors.h"

using namespace ondine;
using namespace ondine::test;

namespace {

template <class T>
concept MatrixOf = requires(T&& tensor) {
  as_matrix<float>(std::forward<T>(tensor));
};
template <class T>
concept RowsOf = requires(T&& tensor) {
  as_rows<float>(std::forward<T>(tensor));
};
template <class T>
concept VectorOf = requires(T&& tensor) {
  as_vector<float>(std::forward<T>(tensor));
};
template <class T>
concept ArrayOf = requires(T&& tensor) {
  as_array<float>(std::forward<T>(tensor));
};
template <class T>
concept MutableMatrixOf = requires(T&& tensor) {
  as_mutable_matrix<float>(std::forward<T>(tensor));
};
template <class M>
concept Wrapped = requires(M&& matrix) {
  wrap_eigen(std::forward<M>(matrix));
};
template <class M>
concept Taken = requires(M&& matrix) {
  from_eigen(std::forward<M>(matrix));
};

// Views of temporaries, of constants for writing, and of columns do not compile.
static_assert(MatrixOf<Tensor&> && MatrixOf<const Tensor&> && !MatrixOf<Tensor>);
static_assert(RowsOf<Tensor&> && !RowsOf<Tensor>);
static_assert(VectorOf<const Tensor&> && !VectorOf<Tensor>);
static_assert(ArrayOf<const Tensor&> && !ArrayOf<Tensor> && !ArrayOf<const Tensor>);
static_assert(MutableMatrixOf<Tensor&> && !MutableMatrixOf<const Tensor&> &&
              !MutableMatrixOf<Tensor>);
static_assert(Wrapped<RowMatrixXf&> && Wrapped<const RowMatrixXf&> && !Wrapped<RowMatrixXf>);
static_assert(Wrapped<Eigen::VectorXf&> && !Wrapped<Eigen::MatrixXf&>);
static_assert(Taken<RowMatrixXd> && Taken<Eigen::VectorXd> && !Taken<Eigen::MatrixXd>);
static_assert(!Taken<RowMatrixXd&> && !Taken<const RowMatrixXd>);

}  // namespace

TEST_CASE("a tensor of rank 2 is a matrix in place") {
  Tensor tensor = iota({2, 3});
  const auto view = as_matrix<float>(tensor);
  CHECK(view.rows() == 2);
  CHECK(view.cols() == 3);
  CHECK(view(1, 0) == 3);
  CHECK(view.data() == tensor.data());
  as_mutable_matrix<float>(tensor)(0, 2) = -1;
  CHECK(view(0, 2) == -1);
  // Product with the transpose: rows [0, 1, -1] and [3, 4, 5].
  const Eigen::Matrix2f product = view * view.transpose();
  CHECK(product(0, 0) == 2);
  CHECK(product(0, 1) == -1);
  CHECK(product(1, 1) == 50);
}

TEST_CASE("leading dims become rows where that is asked for") {
  Tensor tensor = iota<double>({2, 3, 4});
  const auto rows = as_rows<double>(tensor);
  CHECK(rows.rows() == 6);
  CHECK(rows.cols() == 4);
  CHECK(rows(5, 3) == 23);
  as_mutable_rows<double>(tensor).row(1).setZero();
  CHECK(tensor.values<double>()[4] == 0);
  CHECK(tensor.values<double>()[8] == 8);
  const Tensor vector = iota({5});
  CHECK(as_rows<float>(vector).rows() == 1);
  const Tensor empty(DType::float32, {0, 4});
  CHECK(as_rows<float>(empty).rows() == 0);
}

TEST_CASE("vectors and arrays view all elements") {
  Tensor tensor = iota<std::int64_t>({4});
  CHECK(as_vector<std::int64_t>(tensor).sum() == 6);
  as_mutable_vector<std::int64_t>(tensor)[3] = 10;
  CHECK(as_vector<std::int64_t>(tensor).maxCoeff() == 10);
  Tensor cube = iota({2, 2, 2});
  as_mutable_array<float>(cube) *= 2;
  CHECK(as_array<float>(cube).sum() == 56);
  CHECK(as_array<float>(cube).size() == 8);
}

TEST_CASE("half precision is Eigen's") {
  Tensor tensor = Tensor::of<float16>({2}, {float16{0x3C00}, float16{0xC000}});
  CHECK(static_cast<float>(as_vector<Eigen::half>(tensor).sum()) == -1);
  Tensor brain = Tensor::of<bfloat16>({1}, {bfloat16{0x3FC0}});
  CHECK(static_cast<float>(as_vector<Eigen::bfloat16>(brain)[0]) == 1.5F);
}

TEST_CASE("another element type or rank is an error") {
  const Tensor tensor = iota({2, 3});
  const Tensor scalar = Tensor::scalar(1.0F);
  CHECK_THROWS_AS(as_matrix<double>(tensor), Error);
  CHECK_THROWS_AS(as_array<std::int32_t>(tensor), Error);
  CHECK_THROWS_WITH(as_vector<float>(tensor), "a vector needs a tensor of rank 1, not float[2, 3]");
  CHECK_THROWS_WITH(as_matrix<float>(scalar), "a matrix needs a tensor of rank 2, not float[]");
  CHECK_THROWS_WITH(as_rows<float>(scalar), "rows need a tensor of rank 1 or more, not float[]");
}

TEST_CASE("a matrix is wrapped where it is") {
  RowMatrixXf matrix(2, 3);
  matrix << 1, 2, 3, 4, 5, 6;
  const Tensor tensor = wrap_eigen(matrix);
  CHECK(tensor.dtype() == DType::float32);
  CHECK(tensor.shape() == Shape{2, 3});
  CHECK(tensor.data() == matrix.data());
  CHECK_FALSE(tensor.owns_memory());
  matrix(1, 1) = 50;
  CHECK(tensor.values<float>()[4] == 50);
  const Eigen::RowVector3d row(1, 2, 3);
  CHECK(wrap_eigen(row).shape() == Shape{3});
  // Whole rows are contiguous, parts of them are not.
  const auto rows = matrix.bottomRows(1);
  CHECK(wrap_eigen(rows).item<float>() == 4);
  const auto part = matrix.leftCols(2);
  CHECK_THROWS_WITH(wrap_eigen(part), Catch::Contains("contiguous"));
  const auto column = matrix.col(0);
  CHECK_THROWS_WITH(wrap_eigen(column), Catch::Contains("contiguous"));
}

TEST_CASE("a matrix that is given away lives as long as its tensor") {
  Tensor tensor;
  const void* data = nullptr;
  {
    RowMatrixXd matrix = RowMatrixXd::Constant(40, 50, 0.5);
    data = matrix.data();
    tensor = from_eigen(std::move(matrix));
  }
  CHECK(tensor.data() == data);  // moved, not copied
  CHECK(tensor.owns_memory());
  CHECK(as_matrix<double>(tensor).sum() == 1000);
}
