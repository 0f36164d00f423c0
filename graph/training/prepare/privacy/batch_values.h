// Values of a batch, row by row.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/training/prepare/writer.h"

namespace ondine::graph {

// Where the rows of a value are (Tracked).
struct RowPlace {
  std::size_t axis = 0;
  std::size_t rank = 0;
  bool is_exact = true;
};

class BatchValues {
 public:
  // `counted`: a value whose first dim counts the rows.
  BatchValues(GraphWriter& writer, const std::string& counted, DType dtype);

  GraphWriter& writer() const noexcept { return *writer_; }
  DType dtype() const noexcept { return dtype_; }
  const std::string& size() const noexcept { return size_; }    // of the batch: int64, rank 0
  const std::string& sizes() const noexcept { return sizes_; }  // the same, [1]

  std::string node(const char* op, std::vector<std::string> inputs, const char* hint,
                   Attributes attributes = {}) const;
  std::string numbers(const std::vector<std::int64_t>& values) const;
  // [rows, dims...]; one of the dims may be -1.
  std::string reshaped(const std::string& value, const std::vector<std::int64_t>& dims) const;
  std::string transposed(const std::string& value, std::vector<std::int64_t> order) const;
  // `value` with the rows' axis first.
  std::string rows_first(const std::string& value, const RowPlace& place) const;
  // [rows, positions, width] of a value whose last axis has `width` elements.
  std::string positions(const std::string& value, const RowPlace& place, std::int64_t width) const;
  // Sums over all but the rows: of squares, of elements. [rows].
  std::string sum_of_squares(const std::string& value) const;
  std::string sum_of_elements(const std::string& value) const;
  // A number of each row, [rows], as a factor of a value with rows at `place`.
  std::string times(const std::string& value, const RowPlace& place,
                    const std::string& factors) const;

 private:
  GraphWriter* writer_;
  DType dtype_;
  std::string size_;
  std::string sizes_;
};

}  // namespace ondine::graph
