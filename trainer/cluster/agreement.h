// Ranks that tell each other whether they go on.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ondine/communicator.h>
#include <ondine/error.h>

namespace ondine::cluster {

// What all ranks throw. It passes agreements around the one that failed, which a rank may have more
// of than another.
class AgreedError final : public Error {
 public:
  using Error::Error;
};

// Runs `work` on every rank and returns when it succeeded on all; else all throw the error of the
// lowest rank that failed, which its message names unless all failed alike. `wish` is a number that
// each rank gives; returns the largest.
//
// What a rank throws outside of agreements is agreed on by the one around it, as long as every
// exchange of data follows an agreement in which all ranks succeeded, and throws nothing before it.
std::uint32_t agree_on(Communicator& ranks, const std::function<void()>& work,
                       std::uint32_t wish = 0);

// Error(mismatch) that names the first of these facts, and the ranks, which is not the same on all
// ranks. All ranks give the same names.
void require_same(Communicator& ranks,
                  const std::vector<std::pair<std::string, std::string>>& facts);

}  // namespace ondine::cluster
