// Ranks that are threads.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ondine/communicator.h>

namespace ondine::test {

// Runs `work` on that many ranks. What each of them threw, by rank; empty where it threw nothing.
std::vector<std::string> on_ranks(std::size_t size,
                                  const std::function<void(std::shared_ptr<Communicator>)>& work);

}  // namespace ondine::test
