// Commands that mpirun started in several processes.
#pragma once

#include <functional>
#include <memory>

#include <ondine/communicator.h>

namespace ondine::cli {

// Runs `work` with the ranks, or null without mpirun. An error on one rank fails all of them; the
// first rank prints for all. Returns the result of `work`.
int run_on_ranks(const std::function<int(const std::shared_ptr<Communicator>&)>& work);

}  // namespace ondine::cli
