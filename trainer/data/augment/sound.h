// Random changes of recordings.
#pragma once

#include <cstdint>
#include <span>

#include "trainer/data/augment/draws.h"

namespace ondine::data {

// Moves the samples, zeros coming in, and adds white noise, as the options say.
void change_sound(std::span<float> samples, std::int64_t rate, const Augmentation& options,
                  const RowKey& key);

}  // namespace ondine::data
