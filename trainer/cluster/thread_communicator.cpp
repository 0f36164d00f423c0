#include <condition_variable>
#include <cstring>
#include <mutex>

#include <ondine/communicator.h>

#include "core/message.h"
#include "core/out_of_memory.h"

namespace ondine {
namespace {

// State that the ranks of one process share.
struct Meeting {
  explicit Meeting(std::size_t ranks) : size(ranks), given(ranks) {}

  // Returns when all ranks are here.
  void wait() {
    std::unique_lock lock(mutex);
    if (is_aborted) lost();
    const std::uint64_t round = rounds;
    if (++arrived == size) {
      arrived = 0;
      ++rounds;
      changed.notify_all();
      return;
    }
    changed.wait(lock, [&] { return rounds != round || is_aborted; });
    if (rounds == round) lost();
  }

  [[noreturn]] static void lost() { fail(ErrorCode::io, "another rank of the cluster ended"); }

  const std::size_t size;
  std::vector<std::span<const std::byte>> given;  // by rank, while all are in one call
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t arrived = 0;
  std::uint64_t rounds = 0;
  bool is_aborted = false;
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<Meeting> meeting, std::size_t rank)
      : meeting_(std::move(meeting)), rank_(rank) {}

  std::size_t rank() const noexcept override { return rank_; }
  std::size_t size() const noexcept override { return meeting_->size; }
  std::string describe() const override { return "threads"; }

  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    exchange(mine, [&] {
      for (std::size_t i = 0; i < size(); ++i) copy(given(i), all.data() + i * mine.size());
    });
  }

  void all_to_all(std::span<const std::byte> parts, std::span<std::byte> received) override {
    const std::size_t part = parts.size() / size();
    exchange(parts, [&] {
      for (std::size_t i = 0; i < size(); ++i) {
        copy(given(i).subspan(rank_ * part, part), received.data() + i * part);
      }
    });
  }

  void broadcast(std::span<std::byte> bytes, std::size_t from) override {
    exchange(bytes, [&] {
      if (from != rank_) copy(given(from), bytes.data());
    });
  }

  void add(std::span<float> values) override { add_up(values); }
  void add(std::span<double> values) override { add_up(values); }

  void barrier() override { meeting_->wait(); }

  void abort() noexcept override {
    const std::lock_guard lock(meeting_->mutex);
    meeting_->is_aborted = true;
    meeting_->changed.notify_all();
  }

 private:
  static void copy(std::span<const std::byte> from, std::byte* to) {
    if (!from.empty()) std::memcpy(to, from.data(), from.size());
  }

  std::span<const std::byte> given(std::size_t rank) const { return meeting_->given[rank]; }

  // `take` reads what the ranks give.
  template <class Take>
  void exchange(std::span<const std::byte> mine, Take&& take) {
    meeting_->given[rank_] = mine;
    meeting_->wait();
    take();
    meeting_->wait();
  }

  template <class T>
  void add_up(std::span<T> values) {
    std::vector<T> sum(values.size());
    exchange(std::as_bytes(values), [&] {
      for (std::size_t i = 0; i < size(); ++i) {
        const T* const from = reinterpret_cast<const T*>(given(i).data());
        for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += from[k];
      }
    });
    std::copy(sum.begin(), sum.end(), values.begin());
  }

  std::shared_ptr<Meeting> meeting_;
  std::size_t rank_;
};

}  // namespace

std::vector<std::shared_ptr<Communicator>> thread_communicators(std::size_t size) {
  return guard_memory("make ranks of threads", [&] {
    if (size == 0) fail(ErrorCode::mismatch, "a cluster has at least 1 rank");
    const auto meeting = std::make_shared<Meeting>(size);
    std::vector<std::shared_ptr<Communicator>> ranks;
    for (std::size_t i = 0; i < size; ++i) {
      ranks.push_back(std::make_shared<ThreadCommunicator>(meeting, i));
    }
    return ranks;
  });
}

}  // namespace ondine
