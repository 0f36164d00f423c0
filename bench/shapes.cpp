// Trains on batches of many lengths: bench_shapes MODEL LONGEST LENGTHS BATCH WIDTH.
// Prints the median time in milliseconds of a step with the longest batch, after every length was
// seen, and the peak resident memory in MB.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <ondine/ondine.h>

namespace {

using ondine::DType;
using ondine::Feeds;
using ondine::Tensor;

Feeds batch_of(std::int64_t rows, std::int64_t length, std::int64_t width) {
  Tensor x(DType::float32, {rows, length, width});
  auto elements = x.mutable_values<float>();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    elements[i] = static_cast<float>(i * 7919 % 13) / 13;
  }
  return {{"x", x}, {"label", Tensor(DType::int64, {rows})}};
}

// 0 where the system does not tell.
double resident_peak_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kilobytes = 0;
    if (word == "VmHWM:" && status >> kilobytes) return kilobytes / 1024;
  }
  return 0;
}

// Fetches the loss alone: all outputs of a step are a copy of the variables too.
double step_ms(ondine::Model& model, const Feeds& feeds) {
  const auto start = std::chrono::steady_clock::now();
  model.train_step(feeds, 0, {"loss"});
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

int run(char** arguments) {
  const auto number = [&](int i) { return std::strtoll(arguments[i], nullptr, 10); };
  const std::int64_t longest = number(2), lengths = number(3), rows = number(4), width = number(5);
  ondine::LoadOptions options;
  options.threads = 1;
  ondine::Model model = ondine::Model::load(arguments[1], options);
  for (std::int64_t i = 1; i <= lengths; ++i) {
    step_ms(model, batch_of(rows, std::max<std::int64_t>(1, longest * i / lengths), width));
  }
  const Feeds last = batch_of(rows, longest, width);
  std::vector<double> times;
  for (int i = 0; i < 15; ++i) times.push_back(step_ms(model, last));
  std::nth_element(times.begin(), times.begin() + 7, times.end());
  std::cout << times[7] << ' ' << resident_peak_mb() << '\n';
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::cerr << "usage: bench_shapes MODEL LONGEST LENGTHS BATCH WIDTH\n";
    return 2;
  }
  try {
    return run(argv);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
