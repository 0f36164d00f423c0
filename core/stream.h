// Bytes going out and coming in, wherever they are stored.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/message.h"

namespace ondine {

class Sink {
 public:
  virtual ~Sink() = default;
  // Takes all the bytes or throws.
  virtual void write(std::span<const std::byte> bytes) = 0;
};

// A sequence of known length, read from front to back.
class Source {
 public:
  virtual ~Source() = default;
  virtual std::uint64_t size() const = 0;
  virtual std::uint64_t position() const = 0;
  // Fills `bytes`; throws Error(corrupt) when fewer are left.
  virtual void read(std::span<std::byte> bytes) = 0;
};

class MemorySink final : public Sink {
 public:
  void write(std::span<const std::byte> bytes) override {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  const std::vector<std::byte>& bytes() const noexcept { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

// The bytes must outlive it.
class MemorySource final : public Source {
 public:
  explicit MemorySource(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::uint64_t size() const override { return bytes_.size(); }
  std::uint64_t position() const override { return position_; }
  void read(std::span<std::byte> bytes) override {
    const auto rest = bytes_.subspan(position_);
    if (rest.size() < bytes.size()) fail(ErrorCode::corrupt, "ends at byte ", bytes_.size());
    std::copy_n(rest.begin(), bytes.size(), bytes.begin());
    position_ += bytes.size();
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
};

}  // namespace ondine
