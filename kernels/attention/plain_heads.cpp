#include "kernels/attention/plain_heads.h"

#include <algorithm>

#include "core/checked.h"
#include "kernels/attention/visible_keys.h"
#include "kernels/simd/norm/softmax_table.h"
#include "kernels/simd/tables.h"
#include "kernels/simd/vector/vector_table.h"

namespace ondine::math {
namespace {

// Adds rows of masks, null ones left out, to a row of scores. Both operands of a choice are read,
// so that loops are vectorized.
template <class T>
void add_masks(Replaced replaced, const T* mask, const T* more, const VectorKernels<T>& vector,
               T* row, std::int64_t n) {
  if (more != nullptr && mask != nullptr && replaces_mask(replaced)) {
    const T kept = replaced == Replaced::both ? T{0} : T{1};  // of products
    for (std::int64_t j = 0; j < n; ++j) {
      const T instead = more[j];
      const T product = row[j];
      const T sum = product + mask[j];
      const T other = kept * product + instead;
      row[j] = instead != T{0} ? other : sum;
    }
    return;
  }
  if (more != nullptr && replaces_products(replaced)) {
    for (std::int64_t j = 0; j < n; ++j) {
      const T instead = more[j];
      const T own = row[j];
      row[j] = instead != T{0} ? instead : own;
    }
  } else if (more != nullptr) {
    vector.axpy(row, T{1}, more, n);
  }
  if (mask != nullptr) vector.axpy(row, T{1}, mask, n);
}

}  // namespace

// `keys` beside each other of all keys of a head.
template <class T>
GemmShape PlainHeads<T>::product_shape(Product product, std::int64_t rows,
                                       std::int64_t keys) const {
  const AttentionShape& s = shape_;
  switch (product) {
    case scores_product:
      return {.m = rows,
              .n = keys,
              .k = s.head_size,
              .trans_b = s.key_rows,
              .lda = s.q_row(),
              .ldb = s.k_row()};
    case y_product:
      return {.m = rows, .n = s.v_head_size, .k = keys, .ldb = s.v_row(), .ldc = s.y_row()};
    case dv_product:
      return {.m = keys,
              .n = s.v_head_size,
              .k = rows,
              .trans_a = true,
              .ldb = s.y_row(),
              .ldc = s.v_row()};
    case ds_product:
      return {.m = rows,
              .n = keys,
              .k = s.v_head_size,
              .trans_b = true,
              .lda = s.y_row(),
              .ldb = s.v_row()};
    case dq_product:
      return {.m = rows,
              .n = s.head_size,
              .k = keys,
              .trans_b = !s.key_rows,
              .ldb = s.k_row(),
              .ldc = s.q_row()};
    default:
      break;
  }
  if (!s.key_rows) {
    return {.m = s.head_size,
            .n = keys,
            .k = rows,
            .trans_a = true,
            .lda = s.q_row(),
            .ldc = s.k_row()};
  }
  return {
      .m = keys, .n = s.head_size, .k = rows, .trans_a = true, .ldb = s.q_row(), .ldc = s.k_row()};
}

template <class T>
typename PlainHeads<T>::Products PlainHeads<T>::make_products(std::int64_t rows) const {
  const auto make = [&](Product product) { return part(product, rows, shape_.keys); };
  return {make(scores_product), make(y_product),  make(dv_product),
          make(ds_product),     make(dq_product), make(dk_product)};
}

// Workspace that suffices for every product of any tile.
template <class T>
std::size_t PlainHeads<T>::product_bytes() const {
  std::size_t bytes = 0;
  for (const Products& products : products_) {
    for (const GemmPrimitive<T>& product : products) {
      bytes = std::max(bytes, product.workspace());
    }
  }
  if (!shape_.has_masks()) return bytes;
  const std::int64_t rows = VisibleKeys<T>::tile_rows(shape_);
  for (std::int64_t keys = 0; keys < shape_.keys;) {
    keys = std::min(keys + VisibleKeys<T>::block, shape_.keys);
    for (const std::int64_t some : {rows, shape_.queries % rows}) {
      for (int product = 0; product < product_count; ++product) {
        bytes = std::max(bytes, part(static_cast<Product>(product), some, keys).workspace());
      }
    }
  }
  return bytes;
}

template <class T>
PlainHeads<T>::PlainHeads(const AttentionShape& shape, std::int64_t tile_rows, std::int64_t rows,
                          const SimdTables& kernels)
    : shape_(shape),
      kernels_(&kernels),
      tile_rows_(tile_rows),
      products_{make_products(tile_rows), make_products(shape.queries % tile_rows)} {
  tile_bytes_ = bytes_of<T>(checked_mul(rows, shape.keys));
  product_bytes_ = product_bytes();
}

template <class T>
void PlainHeads<T>::multiply(ThreadPool& pool, Product product, const AttentionTile& tile,
                             const T* a, const T* b, T* c, const GemmOptions<T>& options,
                             std::byte* memory) const {
  const std::int64_t rest = shape_.queries % tile_rows_;
  if (tile.keys.size == shape_.keys && (tile.rows == tile_rows_ || tile.rows == rest)) {
    const Products& products = products_[tile.rows == tile_rows_ ? 0 : 1];
    return products[product].run(pool, {}, a, b, c, options, products_at(memory));
  }
  part(product, tile.rows, tile.keys.size).run(pool, {}, a, b, c, options, products_at(memory));
}

template <class T>
void PlainHeads<T>::weights(ThreadPool& pool, const AttentionTile& tile,
                            const AttentionScores<T>& scores, const AttentionOperands<T>& operands,
                            std::byte* memory) const {
  const AttentionShape& s = shape_;
  T* const to = scores_at(memory);
  multiply(pool, scores_product, tile, operands.q.plain() + s.q_offset(tile.head, tile.first),
           operands.k.plain() + s.k_offset(tile.head, tile.keys.begin), to, {.alpha = scores.scale},
           memory);
  const auto weights = tables_of<T>(*kernels_).softmax->weights;
  const VectorKernels<T>& vector = *tables_of<T>(*kernels_).vector;
  const std::int64_t n = tile.keys.size;
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    T* row = to + i * n;
    if (s.capped) {
      T* const curve = caps_at(memory) + i * n;
      vector.scale(row, row, 1 / scores.cap, n);
      vector.tanh(curve, row, n);
      vector.scale(row, curve, scores.cap, n);
    }
    const T* const mask = mask_row(s, scores, tile, i);
    const T* const more = more_row(s, scores, tile, i);
    add_masks(s.replaced, mask, more, vector, row, n);
    weights(row, row, n);
    if (scores.zero_rows && row[0] != row[0] && hides_all(s, mask, more, n)) {
      std::fill_n(row, n, T{0});
    }
  }
}

template <class T>
void PlainHeads<T>::run(ThreadPool& pool, const AttentionTile& tile,
                        const AttentionScores<T>& scores, const AttentionOperands<T>& operands,
                        T* y, std::byte* memory) const {
  const AttentionShape& s = shape_;
  weights(pool, tile, scores, operands, memory);
  multiply(pool, y_product, tile, scores_at(memory),
           operands.v.plain() + s.v_offset(tile.head, tile.keys.begin),
           y + s.y_offset(tile.head, tile.first), {}, memory);
}

// Adds the derivatives of a row of scores to those of the mask, and clears those of products that
// the second mask replaces.
template <class T>
void PlainHeads<T>::add_mask_gradient(const AttentionTile& tile, const AttentionScores<T>& scores,
                                      std::int64_t row, T* ds, T* dmask) const {
  const AttentionShape& s = shape_;
  const std::int64_t n = tile.keys.size;
  const T* const more = s.replaced != Replaced::nothing ? more_row(s, scores, tile, row) : nullptr;
  if (dmask != nullptr) {
    T* const to = dmask + (s.mask_per_query ? tile.first + row : 0) * s.keys + tile.keys.begin;
    if (more != nullptr && replaces_mask(s.replaced)) {
      for (std::int64_t j = 0; j < n; ++j) {
        const T d = ds[j];
        to[j] += more[j] == T{0} ? d : T{0};
      }
    } else {
      tables_of<T>(*kernels_).vector->axpy(to, T{1}, ds, n);
    }
  }
  if (more == nullptr || !replaces_products(s.replaced)) return;
  for (std::int64_t j = 0; j < n; ++j) {
    const T d = ds[j];
    ds[j] = more[j] == T{0} ? d : T{0};
  }
}

template <class T>
void PlainHeads<T>::run_gradient(ThreadPool& pool, const AttentionTile& tile,
                                 const AttentionScores<T>& scores,
                                 const AttentionOperands<T>& operands, const T* dy,
                                 const AttentionGradients<T>& gradients, T beta,
                                 std::byte* memory) const {
  const AttentionShape& s = shape_;
  const auto [dq, dk, dv, dmask] = gradients;
  T* const p = scores_at(memory);
  T* const ds = derivatives_at(memory);
  const std::int64_t queries = s.q_offset(tile.head, tile.first);
  const std::int64_t keys = s.k_offset(tile.head, tile.keys.begin);
  const std::int64_t values = s.v_offset(tile.head, tile.keys.begin);
  const T* const tile_dy = dy + s.y_offset(tile.head, tile.first);
  const T scale = scores.scale;
  weights(pool, tile, scores, operands, memory);
  if (dv != nullptr) {
    multiply(pool, dv_product, tile, p, tile_dy, dv + values, {.beta = beta}, memory);
  }
  if (dq == nullptr && dk == nullptr && dmask == nullptr) return;
  multiply(pool, ds_product, tile, tile_dy, operands.v.plain() + values, ds, {}, memory);
  const auto softmax_gradient = tables_of<T>(*kernels_).softmax->softmax_gradient;
  const auto tanh_gradient = tables_of<T>(*kernels_).vector->tanh_gradient;
  const std::int64_t n = tile.keys.size;
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    softmax_gradient(ds + i * n, ds + i * n, p + i * n, n);
    add_mask_gradient(tile, scores, i, ds + i * n, dmask);
    if (s.capped) tanh_gradient(ds + i * n, ds + i * n, caps_at(memory) + i * n, n);
  }
  if (dq != nullptr) {
    multiply(pool, dq_product, tile, ds, operands.k.plain() + keys, dq + queries, {.alpha = scale},
             memory);
  }
  if (dk == nullptr) return;
  const T* const tile_q = operands.q.plain() + queries;
  multiply(pool, dk_product, tile, s.key_rows ? ds : tile_q, s.key_rows ? tile_q : ds, dk + keys,
           {.alpha = scale, .beta = beta}, memory);
}

template class PlainHeads<float>;
template class PlainHeads<double>;

}  // namespace ondine::math
