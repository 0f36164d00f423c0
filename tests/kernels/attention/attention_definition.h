// Attention from its definition, score by score in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/attention/attention_shape.h"
#include "tests/kernels/common/math_test.h"

namespace ondine::math::test {

// Operands of attention: random numbers, and no mask yet. Elements lie as AttentionShape says.
template <class T>
struct AttentionHeads {
  using Index = std::int64_t;

  AttentionShape shape;
  T scale;
  double (*factor)(double);  // number that products read in place of an operand's
  Numbers numbers;
  std::vector<T> q, k, v, dy, mask;
  std::vector<Index> offsets;  // of the mask of each head

  AttentionHeads(
      const AttentionShape& s, T scale_of_scores,
      double (*factor_of)(double) = [](double x) { return x; })
      : shape(s),
        scale(scale_of_scores),
        factor(factor_of),
        numbers(static_cast<std::uint64_t>(s.queries * 1000 + s.keys)),
        q(numbers.row<T>(s.count * s.queries * s.head_size)),
        k(numbers.row<T>(s.count * s.keys * s.head_size)),
        v(numbers.row<T>(s.count * s.keys * s.v_head_size)),
        dy(numbers.row<T>(s.count * s.queries * s.v_head_size)) {}

  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }
  // Element `f` of row `i` of a head, of an operand with so many rows of `size` that is not packed.
  std::size_t place(Index head, Index rows, Index i, Index size, Index f) const {
    const Index beside = shape.interleaved;
    return at(((head / beside * rows + i) * beside + head % beside) * size + f);
  }
  std::size_t key_place(Index head, Index j, Index f) const {
    return shape.key_rows ? place(head, shape.keys, j, shape.head_size, f)
                          : at((head * shape.head_size + f) * shape.keys + j);
  }
  std::size_t mask_place(Index head, Index i, Index j) const {
    return at(offsets[at(head)] + (shape.mask_per_query ? i * shape.keys : 0) + j);
  }

  std::vector<double> weights(Index head, Index i) const {
    std::vector<double> row;
    for (Index j = 0; j < shape.keys; ++j) {
      double score = 0;
      for (Index f = 0; f < shape.head_size; ++f) {
        score += read(q, place(head, shape.queries, i, shape.head_size, f)) *
                 read(k, key_place(head, j, f));
      }
      const T masked = static_cast<T>(score * static_cast<double>(scale)) +
                       (mask.empty() ? T{0} : mask[mask_place(head, i, j)]);
      row.push_back(static_cast<double>(masked));
    }
    const double largest = *std::ranges::max_element(row);
    double sum = 0;
    for (double& x : row) sum += x = std::exp(x - largest);
    for (double& x : row) x /= sum;
    return row;
  }

  // y, dq, dk and dv, then dmask if it is wanted.
  std::vector<double> expected(bool with_mask) const {
    const auto& s = shape;
    std::vector<double> y(dy.size()), dq(q.size()), dk(k.size()), dv(v.size()), dmask(mask.size());
    for (Index row = 0; row < s.count * s.queries; ++row) {
      const Index head = row / s.queries;
      const Index i = row % s.queries;
      const auto p = weights(head, i);
      std::vector<double> dp(p.size());
      double product = 0;
      for (Index j = 0; j < s.keys; ++j) {
        for (Index f = 0; f < s.v_head_size; ++f) {
          const std::size_t value = place(head, s.keys, j, s.v_head_size, f);
          const std::size_t result = place(head, s.queries, i, s.v_head_size, f);
          y[result] += factor(p[at(j)]) * read(v, value);
          dv[value] += factor(p[at(j)]) * read(dy, result);
          dp[at(j)] += read(dy, result) * read(v, value);
        }
        product += p[at(j)] * dp[at(j)];
      }
      for (Index j = 0; j < s.keys; ++j) {
        const double ds = p[at(j)] * (dp[at(j)] - product);
        if (with_mask) dmask[mask_place(head, i, j)] += ds;
        const double scaled = factor(ds * static_cast<double>(scale));
        for (Index f = 0; f < s.head_size; ++f) {
          const std::size_t query = place(head, s.queries, i, s.head_size, f);
          dq[query] += scaled * read(k, key_place(head, j, f));
          dk[key_place(head, j, f)] += scaled * read(q, query);
        }
      }
    }
    for (const auto& more : {dq, dk, dv}) y.insert(y.end(), more.begin(), more.end());
    if (with_mask) y.insert(y.end(), dmask.begin(), dmask.end());
    return y;
  }

 private:
  double read(const std::vector<T>& from, std::size_t i) const {
    return factor(static_cast<double>(from[i]));
  }
};

}  // namespace ondine::math::test
