// Entries of the metadata of a training model about its steps, which its inference model loses.
#pragma once

#include <array>
#include <string_view>

namespace ondine::graph::entry {

constexpr const char* learning_rate = "ondine.learning_rate";    // the input of that name
constexpr const char* accumulate = "ondine.accumulate";          // batches for an update
constexpr const char* averaged = "ondine.averaged";              // parameters, one a line
constexpr const char* averages = "ondine.averages";              // their averages, one a line
constexpr const char* schedule = "ondine.schedule";              // for people
constexpr const char* scheduled_rate = "ondine.scheduled_rate";  // the output with the rate
constexpr const char* metric_weights = "ondine.metric_weights";  // METRIC=OUTPUT, one a line
constexpr const char* points =
    "ondine.points";                       // sums that a step reads for parameters, one a line
constexpr const char* qat = "ondine.qat";  // the type of quantized weights
constexpr const char* privacy = "ondine.privacy";            // clip, noise and batch size
constexpr const char* secure_noise = "ondine.secure_noise";  // values of it, one a line
constexpr const char* counted = "ondine.counted";            // the input that counts rows

inline constexpr std::array all{learning_rate, accumulate,     averaged,       averages,
                                schedule,      scheduled_rate, metric_weights, points,
                                qat,           privacy,        secure_noise,   counted};

}  // namespace ondine::graph::entry
