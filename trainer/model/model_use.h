// Which calls use a model at the moment: one that the contract of Model forbids beside them is an
// Error instead of a data race.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "core/message.h"

namespace ondine::trainer {

enum class Use : std::uint8_t {
  read,         // a const method
  write,        // changes the state, while others may read the old one
  write_alone,  // changes the state in place
  set,          // changes what running calls use
};

// Thread-safe; never blocks.
class ModelUse {
 public:
  // Until it goes, calls that may not run beside it fail.
  class Scope {
   public:
    Scope(std::atomic<std::uint32_t>& calls, std::uint32_t own) noexcept
        : calls_(&calls), own_(own) {}
    ~Scope() { calls_->fetch_sub(own_, std::memory_order_release); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    std::atomic<std::uint32_t>* calls_;
    std::uint32_t own_;
  };

  // Throws Error(mismatch) that says which call was refused; `what` begins with a verb.
  Scope begin(Use use, std::string_view what) {
    const std::uint32_t own = use == Use::read          ? reader
                              : use == Use::write       ? writer
                              : use == Use::write_alone ? writer | alone
                                                        : setter;
    std::uint32_t calls = calls_.load(std::memory_order_relaxed);
    do {
      if (excludes(use, calls)) refuse(use, what);
    } while (!calls_.compare_exchange_weak(calls, calls + own, std::memory_order_acquire,
                                           std::memory_order_relaxed));
    return {calls_, own};
  }

 private:
  static constexpr std::uint32_t reader = 1;
  static constexpr std::uint32_t writer = 1U << 29;
  static constexpr std::uint32_t alone = 1U << 30;
  static constexpr std::uint32_t setter = 1U << 31;

  static bool excludes(Use use, std::uint32_t calls) noexcept {
    switch (use) {
      case Use::read:
        return (calls & (alone | setter)) != 0;
      case Use::write:
        return (calls & (writer | setter)) != 0;
      case Use::write_alone:
      case Use::set:
        return calls != 0;
    }
    return true;
  }

  [[noreturn]] static void refuse(Use use, std::string_view what) {
    const bool waits_for_change = use == Use::read || use == Use::write;
    const char* const other = waits_for_change ? "another call that changes the model runs"
                                               : "another call uses the model";
    fail(ErrorCode::mismatch, "cannot ", what, " while ", other,
         "; the documentation of Model says which calls may run at once");
  }

  std::atomic<std::uint32_t> calls_{0};
};

}  // namespace ondine::trainer
