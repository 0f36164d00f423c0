// Tells the SuperLink that the node is there, on a thread of its own, so that a long round does not
// count as a loss.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "trainer/federated/fleet_client.h"

namespace ondine::federated {

class Heartbeats {
 public:
  Heartbeats(FleetClient& client, std::chrono::milliseconds interval)
      : client_(client), interval_(interval), thread_([this] { run(); }) {}
  Heartbeats(const Heartbeats&) = delete;
  Heartbeats& operator=(const Heartbeats&) = delete;
  ~Heartbeats() {
    {
      const std::scoped_lock lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  // 0: no heartbeats until another number is set.
  void set_node(std::uint64_t node) noexcept { node_ = node; }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, interval_, [this] { return ends_; })) {
      lock.unlock();
      beat();
      lock.lock();
    }
  }

  // Sends one heartbeat. A failed one is tried again at the next beat; the node's own calls find
  // out what is wrong.
  void beat() noexcept {
    const std::uint64_t node = node_;
    if (node == 0) return;
    try {
      client_.heartbeat(node, std::chrono::duration<double>(interval_).count());
    } catch (const std::exception&) {
    }
  }

  FleetClient& client_;
  std::chrono::milliseconds interval_;
  std::atomic<std::uint64_t> node_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace ondine::federated
