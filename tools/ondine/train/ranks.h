// Commands that mpirun started in several processes.
#pragma once

#include <functional>
#include <memory>

#include <ondine/communicator.h>

namespace ondine::cli {

// Runs `work` with the ranks, or null without mpirun. What fails on one rank fails on all; the
// first one prints for all of them. Returns what `work` does.
int run_on_ranks(const std::function<int(const std::shared_ptr<Communicator>&)>& work);

}  // namespace ondine::cli
