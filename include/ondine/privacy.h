// Training with differential privacy: settings, and what a run has spent.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <ondine/export.h>

namespace ondine {

class Model;

// DP-SGD (Abadi et al. 2016), as PrepareOptions::privacy writes it: the gradient g of each row's
// loss becomes g min(1, clip / |g|), |g| over all trained parameters together; a step takes their
// sum, plus normal noise of standard deviation noise * clip in every element, over batch_size.
struct Privacy {
  float clip = 1;                // positive
  float noise = 1;               // 0 or more; 0 gives no privacy
  std::uint64_t batch_size = 0;  // the expected number of rows of a batch, at least 1
  // Noise and batches come from ChaCha20 (RFC 8439) with a key of the system's entropy, which is
  // never stored: no two runs take the same steps, not with the same seed either. Needs a positive
  // noise. Where the system has no entropy, such a model is not loaded.
  bool secure_noise = false;
};

// The settings that the model was prepared with; nothing for others.
ONDINE_API std::optional<Privacy> privacy_of(const Model& model);

// Privacy cost of steps that each take every row with probability `rate`, independently of others,
// and add noise of `noise` times the bound of a row: Renyi differential privacy of the sampled
// Gaussian mechanism (Mironov et al. 2019) for data sets that differ by one row that is added or
// removed. The bound does not hold for batches of shuffled rows. Copies are independent; const
// functions may run in several threads.
class ONDINE_API PrivacyAccountant {
 public:
  // With orders 1.1, 1.2, ... 10.9, 12, 13, ... 63.
  PrivacyAccountant();
  // Error(mismatch) for a negative noise and a rate outside [0, 1].
  void add(double noise, double rate, std::uint64_t steps);
  // The least epsilon of (epsilon, delta) differential privacy over the orders (Balle et al. 2020);
  // infinite where a step had no noise. Error(mismatch) unless 0 < delta < 1.
  double epsilon(double delta) const;

 private:
  std::vector<double> spent_;  // by order
};

// The least noise, to 0.1 %, with which so many steps cost at most `epsilon`. Error(mismatch) for
// values out of range and where none up to 1e4 does.
ONDINE_API double noise_for(double epsilon, double delta, double rate, std::uint64_t steps);

}  // namespace ondine
