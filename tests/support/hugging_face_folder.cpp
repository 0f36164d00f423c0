#include "tests/support/hugging_face_folder.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>

#include "core/files/file.h"
#include "tests/support/file_content.h"
#include "tests/support/paths.h"

namespace ondine::test {
namespace {

std::filesystem::path data_folder() { return source_folder() / "tests/trainer/hugging_face/data"; }

// The formula of record.py.
Tensor fill(const nlohmann::json& said) {
  Tensor tensor(DType::float32, Shape(said["shape"].get<std::vector<std::int64_t>>()));
  const double number = said["number"];
  const double more = said["one"].get<bool>() ? 1 : 0;
  auto values = tensor.mutable_values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] =
        static_cast<float>(0.5 * std::sin(0.37 * static_cast<double>(i) + 1.1 * number) + more);
  }
  return tensor;
}

}  // namespace

HuggingFaceFolder::HuggingFaceFolder(const std::string& name)
    : case_(nlohmann::json::parse(content(data_folder() / (name + ".json")))) {
  for (const auto& [tensor, said] : case_["tensors"].items()) {
    weights_.tensors.push_back({tensor, fill(said)});
  }
  weights_.metadata = {{"format", "pt"}};
  write();
}

Tensor& HuggingFaceFolder::tensor(const std::string& name) {
  const auto found = std::ranges::find(weights_.tensors, name, &NamedTensor::name);
  REQUIRE(found != weights_.tensors.end());
  return found->value;
}

void HuggingFaceFolder::rename(const std::string& name, const std::string& to) {
  const auto found = std::ranges::find(weights_.tensors, name, &NamedTensor::name);
  REQUIRE(found != weights_.tensors.end());
  found->name = to;
}

void HuggingFaceFolder::remove(const std::string& name) {
  REQUIRE(std::erase_if(weights_.tensors,
                        [&](const NamedTensor& one) { return one.name == name; }) == 1);
}

void HuggingFaceFolder::write() const {
  write_text("config.json", case_["config"].dump());
  PosixFileSystem files;
  save_safetensors(files, folder_ / "model.safetensors", weights_);
}

void HuggingFaceFolder::write_text(const std::string& name, const std::string& text) const {
  std::ofstream(folder_ / name, std::ios::binary) << text;
}

std::vector<std::string> hugging_face_cases() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(data_folder())) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace ondine::test
