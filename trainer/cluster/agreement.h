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

// Error that all ranks throw alike. It passes through the agreements around the one that failed,
// since ranks may be inside different numbers of them.
class AgreedError final : public Error {
 public:
  using Error::Error;
};

// Runs `work` on every rank and returns when it succeeded on all; else all throw the error of the
// lowest rank that failed, which its message names unless all failed alike. `wish` is a number that
// each rank gives; returns the largest.
//
// The agreement around it settles an error that a rank throws outside of agreements, as long as
// every exchange of data follows an agreement in which all ranks succeeded, with nothing that
// throws in between.
std::uint32_t agree_on(Communicator& ranks, const std::function<void()>& work,
                       std::uint32_t wish = 0);

// Error(mismatch) that names the first of these facts, and the ranks, which is not the same on all
// ranks. All ranks give the same names.
void require_same(Communicator& ranks,
                  const std::vector<std::pair<std::string, std::string>>& facts);

}  // namespace ondine::cluster
