// A folder of adapters as PEFT has it.
#pragma once

#include <filesystem>
#include <string>

#include <ondine/limits.h>

#include "checkpoints/safetensors.h"
#include "core/message.h"

namespace ondine::trainer {

class PeftFolder {
 public:
  explicit PeftFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Errors of `use` and of the file name the file.
  template <class Use>
  void with_settings(const Use& use) const {
    within(settings_file, [&] { use(settings()); });
  }
  template <class Use>
  void with_tensors(const Limits& limits, const Use& use) const {
    within(weights_file, [&] { use(tensors(limits)); });
  }
  // Makes the folder; replaces each file in one step.
  void write(const Safetensors& content, const std::string& settings) const;

 private:
  static constexpr const char* weights_file = "adapter_model.safetensors";
  static constexpr const char* settings_file = "adapter_config.json";

  template <class Use>
  void within(const char* name, const Use& use) const {
    with_context(use, [&] { return cat("file ", quoted((folder_ / name).string())); });
  }
  std::string settings() const;
  Safetensors tensors(const Limits& limits) const;

  std::filesystem::path folder_;
};

}  // namespace ondine::trainer
