// The dims of a tensor. Up to 8 of them lie inline: copying or building such a Shape never
// allocates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <ondine/export.h>

namespace ondine {

class ONDINE_API Shape {
 public:
  static constexpr std::size_t max_rank = 32;

  Shape() = default;
  Shape(const Shape& other);
  Shape(Shape&& other) noexcept { swap(other); }
  Shape& operator=(const Shape& other);
  Shape& operator=(Shape&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Shape() = default;
  // Throws Error(limit) above max_rank and Error(mismatch) for a negative dim.
  Shape(std::initializer_list<std::int64_t> dims)
      : Shape(std::span<const std::int64_t>(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const std::int64_t> dims);
  // `rank` dims of `dim` each.
  static Shape filled(std::size_t rank, std::int64_t dim);

  std::size_t rank() const noexcept { return rank_; }
  bool empty() const noexcept { return rank_ == 0; }
  std::int64_t operator[](std::size_t axis) const noexcept { return data()[axis]; }
  std::int64_t& operator[](std::size_t axis) noexcept { return data()[axis]; }
  std::int64_t back() const noexcept { return data()[rank_ - 1]; }
  void push_back(std::int64_t dim);

  std::span<const std::int64_t> span() const noexcept { return {data(), rank_}; }
  const std::int64_t* begin() const noexcept { return data(); }
  const std::int64_t* end() const noexcept { return data() + rank_; }

  // Product of the dims; 1 for rank 0. Throws Error(limit) when the nonzero ones exceed 2^56,
  // or, beside a dim of 0, what addresses reach.
  std::int64_t size() const;
  // Product of the dims first <= axis < last, same errors.
  std::int64_t size(std::size_t first, std::size_t last) const;

  // "[2, 3]"
  std::string to_string() const;

  ONDINE_API friend bool operator==(const Shape& a, const Shape& b) noexcept;

 private:
  static constexpr std::size_t inline_rank = 8;

  const std::int64_t* data() const noexcept { return all_ ? all_.get() : inline_.data(); }
  std::int64_t* data() noexcept { return all_ ? all_.get() : inline_.data(); }
  void swap(Shape& other) noexcept {
    std::swap(inline_, other.inline_);
    std::swap(all_, other.all_);
    std::swap(rank_, other.rank_);
  }

  std::array<std::int64_t, inline_rank> inline_{};
  std::unique_ptr<std::int64_t[]> all_;  // max_rank dims, where the rank is above inline_rank
  std::uint8_t rank_ = 0;
};

}  // namespace ondine
