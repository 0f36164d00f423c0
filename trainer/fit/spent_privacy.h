// Privacy that the steps of a run have spent.
#pragma once

#include <cstdint>

namespace ondine::fit {

struct SpentPrivacy {
  std::uint64_t steps = 0;
  double rate = 0;  // of all of them
  double noise = 0;

  // Before steps with these settings. Error(mismatch) where those before had others.
  void begin(double noise_of_steps, double rate_of_steps);
  double epsilon(double delta) const;
};

}  // namespace ondine::fit
