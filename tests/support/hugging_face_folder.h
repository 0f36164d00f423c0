// Folders of Hugging Face with small networks, from the cases in
// tests/trainer/hugging_face/data (record.py).
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "checkpoints/safetensors.h"
#include "tests/support/temporary_folder.h"

namespace ondine::test {

class HuggingFaceFolder {
 public:
  // Writes config.json and model.safetensors of a case.
  explicit HuggingFaceFolder(const std::string& name);

  const std::filesystem::path& path() const { return folder_.path(); }
  std::filesystem::path operator/(const std::string& name) const { return folder_ / name; }
  const nlohmann::json& said() const { return case_; }  // of the case
  nlohmann::json& config() { return case_["config"]; }
  Safetensors& weights() { return weights_; }
  Tensor& tensor(const std::string& name);
  void rename(const std::string& name, const std::string& to);
  void remove(const std::string& name);
  // Writes the files again, after changes.
  void write() const;
  void write_text(const std::string& name, const std::string& text) const;

 private:
  TemporaryFolder folder_;
  nlohmann::json case_;
  Safetensors weights_;
};

// The names of all cases.
std::vector<std::string> hugging_face_cases();

}  // namespace ondine::test
