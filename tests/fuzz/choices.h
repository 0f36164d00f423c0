// Decisions read from bytes, so that a fuzzer that changes bytes changes decisions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ondine::test {

// When the bytes are used up every decision is 0.
class Choices {
 public:
  explicit Choices(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  bool empty() const noexcept { return bytes_.empty(); }
  std::uint8_t byte() noexcept {
    if (bytes_.empty()) return 0;
    const std::uint8_t first = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return first;
  }
  // 0 ... n - 1; n >= 1.
  std::size_t below(std::size_t n) noexcept {
    std::size_t value = 0;
    for (std::size_t most = 1; most < n; most <<= 8) value = value << 8 | byte();
    return value % n;
  }
  // True about once in n; false when the bytes are used up.
  bool once_in(std::size_t n) noexcept { return below(n) == n - 1; }
  template <class T>
  const T& pick(const std::vector<T>& from) noexcept {
    return from[below(from.size())];
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

}  // namespace ondine::test
