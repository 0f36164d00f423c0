// Follows Plan::streaming while the plan runs.
#pragma once

#include <cstddef>
#include <vector>

#include "trainer/plan/place/streaming.h"

namespace ondine::trainer {

class Streamer {
 public:
  // `streaming` must outlive it.
  explicit Streamer(const Streaming& streaming);
  Streamer(const Streamer&) = delete;
  Streamer& operator=(const Streamer&) = delete;
  ~Streamer() { drop_all(); }

  // Before the node runs, and with the number of nodes after the last one. Nodes run in order;
  // node 0 begins anew.
  void enter(std::size_t node) noexcept;
  void drop_all() noexcept;

 private:
  void drop(std::size_t constant) noexcept;

  const Streaming* streaming_;
  std::size_t next_ = 0;  // event
  std::vector<bool> held_;
};

}  // namespace ondine::trainer
