// Attention by matrix products and softmax rows of the scores of a tile.
#pragma once

#include <array>
#include <memory>

#include "kernels/attention/head_kernel.h"
#include "kernels/matmul/gemm_primitive.h"

namespace ondine::math {

template <class T>
class PlainHeads final : public HeadKernel<T> {
 public:
  // `tile_rows`: queries of a tile that sees all keys; `rows`: of any tile at most.
  PlainHeads(const AttentionShape& shape, std::int64_t tile_rows, std::int64_t rows,
             const SimdTables& kernels);

  std::string_view name() const noexcept override { return "tiled"; }
  std::size_t bytes() const noexcept override { return tiles() * tile_bytes_ + product_bytes_; }
  bool packs() const noexcept override { return false; }
  bool takes_bf16() const noexcept override { return false; }

  void pack(const AttentionOperands<T>&, std::int64_t, std::byte*) const override {}
  void run(ThreadPool& pool, const AttentionTile& tile, const AttentionScores<T>& scores,
           const AttentionOperands<T>& operands, T* y, std::byte* memory) const override;

  void pack_gradient(const AttentionOperands<T>&, std::int64_t, std::byte*) const override {}
  void run_gradient(ThreadPool& pool, const AttentionTile& tile, const AttentionScores<T>& scores,
                    const AttentionOperands<T>& operands, const T* dy,
                    const AttentionGradients<T>& gradients, T beta,
                    std::byte* memory) const override;

 private:
  enum Product : std::uint8_t {
    scores_product,
    y_product,
    dv_product,
    ds_product,
    dq_product,
    dk_product,
    product_count
  };
  using Products = std::array<GemmPrimitive<T>, product_count>;

  GemmShape product_shape(Product product, std::int64_t rows, std::int64_t keys) const;
  GemmPrimitive<T> part(Product product, std::int64_t rows, std::int64_t keys) const {
    return {product_shape(product, rows, keys), 1, 1, *kernels_};
  }
  Products make_products(std::int64_t rows) const;
  std::size_t product_bytes() const;
  // A thread computes a tile alone.
  void multiply(ThreadPool& pool, Product product, const AttentionTile& tile, const T* a,
                const T* b, T* c, const GemmOptions<T>& options, std::byte* memory) const;
  void weights(ThreadPool& pool, const AttentionTile& tile, const AttentionScores<T>& scores,
               const AttentionOperands<T>& operands, std::byte* memory) const;

  void add_mask_gradient(const AttentionTile& tile, const AttentionScores<T>& scores,
                         std::int64_t row, T* ds, T* dmask) const;

  // The memory: tiles of scores, of derivatives and, where scores are capped, of what tanh gave,
  // then that of products.
  std::size_t tiles() const { return shape_.capped ? 3 : 2; }
  T* caps_at(std::byte* memory) const { return reinterpret_cast<T*>(memory + 2 * tile_bytes_); }
  T* scores_at(std::byte* memory) const { return reinterpret_cast<T*>(memory); }
  T* derivatives_at(std::byte* memory) const { return reinterpret_cast<T*>(memory + tile_bytes_); }
  Workspace products_at(std::byte* memory) const {
    return {memory + tiles() * tile_bytes_, product_bytes_};
  }

  AttentionShape shape_;
  const SimdTables* kernels_;
  std::int64_t tile_rows_;
  // Products of tiles that see all keys: [0] of full tiles, [1] of the last tile of a head, which
  // may have fewer queries.
  std::array<Products, 2> products_;
  std::size_t tile_bytes_ = 0;
  std::size_t product_bytes_ = 0;
};

}  // namespace ondine::math
