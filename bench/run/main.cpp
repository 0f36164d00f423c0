// Runs training steps of one workload on command from standard input, so that another program can
// be timed in turns with it:  bench_run MODEL.onnx X.npy LABEL.npy THREADS [immediate] [bf16]
// [BUDGET]
//   steps N   runs N steps; prints the milliseconds of each, then their losses
//   profile N prints milliseconds and calls a step of each operator
//   memory    prints the peak of resident memory in MB, and the planned bytes
//   peak      prints the GF/s that one thread can reach
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>

#include <ondine/data.h>
#include <ondine/model.h>

#include "bench/run/peak.h"

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

class Runner {
 public:
  Runner(const std::string& model, const std::string& x, const std::string& label,
         const ondine::LoadOptions& options)
      : model_(ondine::Model::load(model, options)),
        feeds_{{"x", ondine::load_array(x).clone()}, {"label", ondine::load_array(label)}},
        results_{{"loss", ondine::Value()}} {}

  void steps(int count) {
    std::vector<double> times;
    std::vector<double> losses;
    for (int i = 0; i < count; ++i) {
      const auto start = Clock::now();
      losses.push_back(step());
      times.push_back(milliseconds(start));
    }
    for (const double time : times) std::printf("%.6f ", time);
    for (const double loss : losses) std::printf("%.9g ", loss);
    std::printf("\n");
  }

  void profile(int count) {
    model_.set_profiling(true);
    for (int i = 0; i < count; ++i) step();
    for (const auto& entry : model_.profile()) {
      std::printf("%s %.6f %.6g ", entry.op.c_str(), entry.seconds * 1e3 / count,
                  static_cast<double>(entry.calls) / count);
    }
    std::printf("\n");
    model_.set_profiling(false);
  }

  void memory() const {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const ondine::PlanInfo plan = model_.plan(feeds_, 0, std::vector<std::string>{"loss"});
    std::printf("%.3f %.0f %.0f %.0f\n", static_cast<double>(usage.ru_maxrss) / 1024,
                static_cast<double>(plan.arena_bytes), static_cast<double>(plan.constant_bytes),
                static_cast<double>(plan.state_bytes));
  }

 private:
  double step() {
    model_.train_step_into(feeds_, 0, results_);
    return results_[0].second.tensor().values<float>()[0];
  }

  ondine::Model model_;
  ondine::NamedValues feeds_;
  ondine::NamedValues results_;
};

}  // namespace

int main(int count, char** arguments) {
  if (count < 5) {
    std::cerr
        << "usage: bench_run MODEL.onnx X.npy LABEL.npy THREADS [immediate] [bf16|int8] [BUDGET]\n";
    return 2;
  }
  try {
    ondine::LoadOptions options;
    options.threads = std::stoi(arguments[4]);
    for (int i = 5; i < count; ++i) {
      const std::string word = arguments[i];
      if (word == "immediate") {
        options.updates = ondine::UpdatePolicy::immediate;
      } else if (word == "bf16") {
        options.precision = ondine::Precision::bfloat16;
      } else if (word == "int8") {
        options.precision = ondine::Precision::int8;
      } else {
        options.memory_budget = std::stoull(word);
      }
    }
    Runner runner(arguments[1], arguments[2], arguments[3], options);
    std::string command;
    while (std::cin >> command) {
      int times = 1;
      if (command == "steps" || command == "profile") std::cin >> times;
      if (command == "steps") runner.steps(times);
      if (command == "profile") runner.profile(times);
      if (command == "memory") runner.memory();
      if (command == "peak") std::printf("%.3f\n", bench::peak_gflops());
      std::fflush(stdout);
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
