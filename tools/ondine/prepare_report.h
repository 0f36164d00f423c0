// Output of the command prepare about its result.
#pragma once

#include <string>

#include <ondine/prepare.h>

namespace ondine::cli {

// Prints to standard output what was prepared into `file`: the loss and what it reads, what was
// chosen and why, and each parameter. `quantizes`: whether frozen weights were to be quantized.
void print_report(const std::string& file, const PrepareReport& report, bool quantizes);

}  // namespace ondine::cli
