// Writes the workloads as training models, W1.onnx ..., each with one batch of fixed data,
// W1.x.npy and W1.label.npy:  bench_models FOLDER [W1 W3 ...]
// Without names all but L1 and L2, which take 0.5 GB each.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <span>

#include <ondine/data.h>
#include <ondine/error.h>

#include "bench/models/workloads.h"

namespace {

using namespace bench;  // NOLINT

struct Workload {
  std::string name;
  ModelBuilder (*build)();
  Shape x;
  std::int64_t batch;
  std::int64_t classes;
  ondine::PrepareOptions options;
  bool large = false;  // x counts words, of which each has a label
};

ondine::PrepareOptions options(const ondine::Optimizer& optimizer) {
  ondine::PrepareOptions result;
  result.optimizer = optimizer;
  result.init = ondine::WeightInit::keep;
  result.accuracy = false;
  return result;
}

std::vector<Workload> workloads() {
  using ondine::Adam;
  using ondine::Sgd;
  auto head_only = options(Sgd{.learning_rate = 0.01F});
  head_only.train = {"classifier.*"};
  head_only.training_mode = false;
  auto adapters = options(ondine::AdamW{.learning_rate = 0.0001F});
  adapters.train = {"*.lora_*"};
  return {
      {"W1", mlp, {64, 784}, 64, 10, options(Sgd{.learning_rate = 0.01F})},
      {"W2", mlp, {64, 784}, 64, 10, options(Adam{.learning_rate = 0.001F})},
      {"W3", lenet, {32, 1, 28, 28}, 32, 10, options(Adam{.learning_rate = 0.001F})},
      {"W4", mobilenet_v2, {8, 3, 224, 224}, 8, 1000, options(Sgd{.learning_rate = 0.001F})},
      {"W5", mobilenet_v2, {8, 3, 224, 224}, 8, 1000, head_only},
      {"W6", resnet18, {8, 3, 32, 32}, 8, 10, options(ondine::Momentum{.learning_rate = 0.001F})},
      {"W7", transformer, {8, 128, 256}, 8, 10, options(Adam{.learning_rate = 0.0001F})},
      {"W8", lstm, {100, 16, 40}, 16, 10, options(Adam{.learning_rate = 0.001F})},
      {"W9", mlp, {1, 784}, 1, 10, options(Sgd{.learning_rate = 0.001F})},
      {"L1", gpt2_with_adapters, {1, 256}, 256, 50257, adapters, true},
      {"L2",
       gpt2_whole,
       {1, 256},
       256,
       50257,
       options(ondine::AdamW{.learning_rate = 0.0001F}),
       true},
  };
}

// Numbers in [-1, 1], or words, and consecutive labels.
Tensor input_of(const Workload& workload) {
  Tensor x(workload.large ? DType::int64 : DType::float32, workload.x);
  std::uint64_t state = 7;
  for (std::size_t i = 0; i < static_cast<std::size_t>(x.size()); ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    if (workload.large) {
      x.mutable_values<std::int64_t>()[i] =
          static_cast<std::int64_t>((state >> 11) % static_cast<std::uint64_t>(workload.classes));
    } else {
      x.mutable_values<float>()[i] =
          static_cast<float>(static_cast<double>(state >> 11) * 0x1p-52 - 1);
    }
  }
  return x;
}

void write_data(const Workload& workload, const std::filesystem::path& folder) {
  Tensor label(DType::int64, {workload.batch});
  std::int64_t next = 3;
  for (std::int64_t& value : label.mutable_values<std::int64_t>()) {
    value = next % workload.classes;
    next += 7;
  }
  ondine::save_array(folder / (workload.name + ".x.npy"), input_of(workload));
  ondine::save_array(folder / (workload.name + ".label.npy"), label);
}

void write(const Workload& workload, const std::filesystem::path& folder) {
  const auto plain = folder / (workload.name + ".inference.onnx");
  workload.build().save(plain);
  ondine::prepare(plain, folder / (workload.name + ".onnx"), workload.options);
  std::filesystem::remove(plain);
  write_data(workload, folder);
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  if (words.empty() || words[0].starts_with('-')) {
    std::cerr << "usage: bench_models FOLDER [W1 W3 ...]\n";
    return 2;
  }
  const std::span<const std::string> wanted(words.begin() + 1, words.end());
  try {
    std::filesystem::create_directories(words[0]);
    for (const Workload& one : workloads()) {
      const bool chosen = wanted.empty()
                              ? !one.large
                              : std::find(wanted.begin(), wanted.end(), one.name) != wanted.end();
      if (chosen) write(one, words[0]);
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
