#include "trainer/cluster/bucket_sum.h"

#include <utility>

#include "trainer/cluster/agreement.h"

namespace ondine::cluster {

BucketSum::BucketSum(Communicator& ranks, std::span<float> values, std::vector<std::size_t> ends,
                     Add add)
    : ranks_(&ranks),
      values_(values),
      ends_(std::move(ends)),
      add_(std::move(add)),
      thread_([this] { work(); }) {}

BucketSum::~BucketSum() { join(); }

void BucketSum::join() {
  if (thread_.joinable()) thread_.join();
}

void BucketSum::advance(std::size_t count) {
  {
    const std::lock_guard lock(mutex_);
    final_ = count;
  }
  changed_.notify_one();
}

void BucketSum::finish() {
  advance(values_.size());
  join();
  if (thrown_) std::rethrow_exception(thrown_);
}

void BucketSum::give_up(std::exception_ptr error) {
  {
    const std::lock_guard lock(mutex_);
    own_ = error;
  }
  changed_.notify_one();
  join();
  std::rethrow_exception(thrown_ ? thrown_ : error);
}

bool BucketSum::wait_for(std::size_t end) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return own_ || final_ >= end; });
  return !own_;
}

void BucketSum::work() {
  try {
    std::size_t begin = 0;
    for (const std::size_t end : ends_) {
      const bool has_values = wait_for(end);
      agree_on(*ranks_, [&] {
        if (!has_values) std::rethrow_exception(own_);
      });
      add_(values_.subspan(begin, end - begin));
      begin = end;
    }
  } catch (...) {
    thrown_ = std::current_exception();
  }
}

}  // namespace ondine::cluster
