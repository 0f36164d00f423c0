// Tensors as Eigen matrices and back, without copies. Needs Eigen 3.4 on the user's side; nothing
// else of the library does.
//
// Views are row-major, as tensors are. A view of a tensor is valid while the tensor (or a copy that
// shares its elements) lives; a tensor that wraps a matrix is valid while the matrix lives and is
// not resized. Temporaries do not compile where a view of them would dangle. Elements may be read
// through any number of views at once; writes are the caller's to order.
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <Eigen/Core>

#include <ondine/error.h>
#include <ondine/tensor.h>

namespace ondine {

template <>
struct DTypeOf<Eigen::half> {
  static constexpr DType value = DType::float16;
};
template <>
struct DTypeOf<Eigen::bfloat16> {
  static constexpr DType value = DType::bfloat16;
};

template <class T>
using RowMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using RowMatrixXf = RowMatrix<float>;
using RowMatrixXd = RowMatrix<double>;
template <class T>
using ColumnVector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
template <class T>
using FlatArray = Eigen::Array<T, Eigen::Dynamic, 1>;

namespace eigen_detail {

[[noreturn]] inline void reject(const char* what, const Tensor& tensor) {
  throw Error(ErrorCode::mismatch, std::string(what) + ", not " +
                                       std::string(to_string(tensor.dtype())) +
                                       tensor.shape().to_string());
}

inline Eigen::Index rows_of(const Tensor& tensor) {
  if (tensor.shape().rank() != 2) reject("a matrix needs a tensor of rank 2", tensor);
  return tensor.shape()[0];
}

inline Eigen::Index rows_before_last(const Tensor& tensor) {
  if (tensor.shape().empty()) reject("rows need a tensor of rank 1 or more", tensor);
  return tensor.shape().size(0, tensor.shape().rank() - 1);
}

inline Eigen::Index length_of(const Tensor& tensor) {
  if (tensor.shape().rank() != 1) reject("a vector needs a tensor of rank 1", tensor);
  return tensor.shape()[0];
}

// Elements of a dense expression that lie in memory row by row.
template <class Derived>
inline constexpr bool row_major_memory = (Eigen::internal::traits<Derived>::Flags &
                                          Eigen::DirectAccessBit) != 0 &&
                                         (Derived::IsRowMajor != 0 ||
                                          Derived::IsVectorAtCompileTime != 0);
template <class Derived>
concept RowMajorMemory = row_major_memory<Derived>;

template <class Derived>
bool contiguous(const Derived& matrix) {
  if (matrix.innerSize() > 1 && matrix.innerStride() != 1) return false;
  return matrix.outerSize() <= 1 || matrix.outerStride() == matrix.innerSize();
}

template <class Derived>
Shape shape_of(const Derived& matrix) {
  if constexpr (Derived::IsVectorAtCompileTime) {
    return {matrix.size()};
  } else {
    return {matrix.rows(), matrix.cols()};
  }
}

}  // namespace eigen_detail

// A tensor of rank 2 as a matrix. T is the element type of the tensor: Eigen::half for float16,
// Eigen::bfloat16 for bfloat16. Error(mismatch) for another element type or rank.
template <class T>
Eigen::Map<const RowMatrix<T>> as_matrix(const Tensor& tensor) {
  const Eigen::Index rows = eigen_detail::rows_of(tensor);
  return {tensor.values<T>().data(), rows, tensor.shape()[1]};
}
template <class T>
Eigen::Map<RowMatrix<T>> as_mutable_matrix(Tensor& tensor) {
  const Eigen::Index rows = eigen_detail::rows_of(tensor);
  return {tensor.mutable_values<T>().data(), rows, tensor.shape()[1]};
}

// A tensor of rank 1 or more as a matrix whose rows are those of its last dim: [2, 3, 4] is 6 x 4.
// Same errors.
template <class T>
Eigen::Map<const RowMatrix<T>> as_rows(const Tensor& tensor) {
  const Eigen::Index rows = eigen_detail::rows_before_last(tensor);
  return {tensor.values<T>().data(), rows, tensor.shape().back()};
}
template <class T>
Eigen::Map<RowMatrix<T>> as_mutable_rows(Tensor& tensor) {
  const Eigen::Index rows = eigen_detail::rows_before_last(tensor);
  return {tensor.mutable_values<T>().data(), rows, tensor.shape().back()};
}

// A tensor of rank 1 as a column vector. Same errors.
template <class T>
Eigen::Map<const ColumnVector<T>> as_vector(const Tensor& tensor) {
  const Eigen::Index length = eigen_detail::length_of(tensor);
  return {tensor.values<T>().data(), length};
}
template <class T>
Eigen::Map<ColumnVector<T>> as_mutable_vector(Tensor& tensor) {
  const Eigen::Index length = eigen_detail::length_of(tensor);
  return {tensor.mutable_values<T>().data(), length};
}

// All elements of a tensor of any rank, in row-major order, for element-wise arithmetic.
// Error(mismatch) for another element type.
template <class T>
Eigen::Map<const FlatArray<T>> as_array(const Tensor& tensor) {
  return {tensor.values<T>().data(), tensor.size()};
}
template <class T>
Eigen::Map<FlatArray<T>> as_mutable_array(Tensor& tensor) {
  return {tensor.mutable_values<T>().data(), tensor.size()};
}

template <class T>
void as_matrix(const Tensor&&) = delete;
template <class T>
void as_rows(const Tensor&&) = delete;
template <class T>
void as_vector(const Tensor&&) = delete;
template <class T>
void as_array(const Tensor&&) = delete;

// A tensor of the elements of a row-major matrix (rank 2) or of a vector (rank 1), where they are.
// Column-major matrices and expressions do not compile; Error(mismatch) when the elements are not
// contiguous, as those of a block may be.
template <class Derived>
requires eigen_detail::RowMajorMemory<Derived> Tensor
wrap_eigen(const Eigen::DenseBase<Derived>& matrix) {
  const Derived& m = matrix.derived();
  if (!eigen_detail::contiguous(m)) {
    throw Error(ErrorCode::mismatch, "a tensor needs contiguous elements; copy the block first");
  }
  return Tensor::wrap(dtype_of<typename Derived::Scalar>, eigen_detail::shape_of(m),
                      static_cast<const void*>(m.data()));
}
template <class Derived>
void wrap_eigen(const Eigen::PlainObjectBase<Derived>&&) = delete;

// As wrap_eigen, but the tensor takes over the matrix, which is moved, and keeps it alive.
template <class Derived>
requires(eigen_detail::RowMajorMemory<Derived> && !std::is_const_v<Derived>) Tensor
    from_eigen(Eigen::PlainObjectBase<Derived>&& matrix) {
  auto owner = std::make_shared<Derived>(std::move(matrix.derived()));
  return Tensor::share(dtype_of<typename Derived::Scalar>, eigen_detail::shape_of(*owner),
                       owner->data(), owner);
}

}  // namespace ondine
