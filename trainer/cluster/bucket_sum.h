// Sums over the ranks while the numbers are still being computed.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include <ondine/communicator.h>

namespace ondine::cluster {

// Numbers become final from the first on. A thread adds up those of a bucket as soon as they are,
// after an agreement (agreement.h); no other thread may use the communicator meanwhile.
class BucketSum {
 public:
  using Add = std::function<void(std::span<float>)>;

  // `ends`: where the buckets end, rising, the last one at the end of the values. `add` sums some
  // of them over the ranks. All ranks have the same buckets.
  BucketSum(Communicator& ranks, std::span<float> values, std::vector<std::size_t> ends, Add add);
  ~BucketSum();
  BucketSum(const BucketSum&) = delete;
  BucketSum& operator=(const BucketSum&) = delete;

  // The first `count` values are final.
  void advance(std::size_t count);
  // All are; returns when all are sums. Throws what all ranks throw where one of them gave up.
  void finish();
  // This rank fails: throws what all ranks throw in place of `error`, or it where the others have
  // all sums and learn of it in the next agreement.
  [[noreturn]] void give_up(std::exception_ptr error);

 private:
  void work();
  // Whether the values up to `end` are final; false where this rank gave up.
  bool wait_for(std::size_t end);
  void join();

  Communicator* ranks_;
  std::span<float> values_;
  std::vector<std::size_t> ends_;
  Add add_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t final_ = 0;
  std::exception_ptr own_;     // why this rank gave up
  std::exception_ptr thrown_;  // by work()
  std::thread thread_;
};

}  // namespace ondine::cluster
