// Changes of inputs that are model files, for libFuzzer and for run_files.cpp.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "core/random/random.h"
#include "proto/export.h"
#include "proto/import.h"
#include "tests/fuzz/any_network.h"
#include "tests/fuzz/any_training.h"
#include "tests/fuzz/base_models.h"
#include "tests/fuzz/change_exporter.h"
#include "tests/fuzz/change_model.h"
#include "tests/fuzz/change_training.h"
#include "tests/fuzz/settings.h"
#include "tests/fuzz/try_model.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace ondine::test {
namespace {

using graph::ModelDef;

std::vector<std::uint8_t> random_bytes(unsigned seed, std::size_t count) {
  const RandomKey key{seed, 0, 1};
  std::vector<std::uint8_t> bytes(count);
  for (std::size_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<std::uint8_t>(random_block(key, i)[0] >> 24);
  }
  return bytes;
}

ModelDef fresh_model(Choices& choices) {
  ModelDef model;
  switch (choices.below(4)) {
    case 0:
      model = choices.pick(base_models());
      break;
    case 1:
      model = any_network(choices).model;
      break;
    default:
      model = any_training_model(choices);
  }
  return model;
}

void change_settings(ModelDef& model, Choices& choices) {
  auto settings = settings_of(model);
  if (settings.size() < 24) settings.resize(24);
  for (std::size_t n = 1 + choices.below(8); n > 0; --n) {
    settings[choices.below(settings.size())] = choices.byte();
  }
  set_settings(model, settings);
}

void change_anything(ModelDef& model, Choices& choices) {
  if (choices.once_in(2)) change_settings(model, choices);
  for (std::size_t n = choices.below(3); n > 0; --n) change_exporter(model, choices);
  for (std::size_t n = choices.below(4); n > 0; --n) {
    if (choices.once_in(3)) {
      change_model(model, choices);
    } else {
      change_training(model, choices);
    }
  }
}

std::optional<ModelDef> decoded(std::span<const std::uint8_t> input) {
  std::optional<ModelDef> model;
  refuses([&] { model = load_model(std::as_bytes(input), narrow_options().limits); });
  return model;
}

}  // namespace
}  // namespace ondine::test

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  using namespace ondine;        // NOLINT
  using namespace ondine::test;  // NOLINT
  const auto decisions = random_bytes(seed, 512);
  Choices choices(decisions);
  // Bytes that are no model, too: what reads the file has to reject them.
  if (choices.once_in(4)) return LLVMFuzzerMutate(data, size, max_size);
  auto model = choices.once_in(4) ? std::nullopt : decoded({data, size});
  if (!model) model = fresh_model(choices);
  change_anything(*model, choices);
  std::vector<std::byte> bytes;
  if (refuses([&] { bytes = export_model(*model); }) || bytes.size() > max_size) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}
