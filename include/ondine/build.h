// Writing a model from nothing: nodes, initializers, inputs and outputs by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <ondine/export.h>
#include <ondine/tensor.h>

namespace ondine {

// Values are called by their names, which the caller keeps apart; whether the model is right is
// found by check_model or Model::load. Not thread-safe.
class ONDINE_API ModelBuilder {
 public:
  using Dim = std::variant<std::int64_t, std::string>;  // a size, or a name for any size
  using Attribute =
      std::variant<std::int64_t, float, std::string, Tensor, std::vector<std::int64_t>,
                   std::vector<float>, std::vector<std::string>>;
  using Attributes = std::vector<std::pair<std::string, Attribute>>;

  // `opset`: the version of ai.onnx.
  explicit ModelBuilder(std::string name, std::int64_t opset = 17);
  ModelBuilder(ModelBuilder&&) noexcept;
  ModelBuilder& operator=(ModelBuilder&&) noexcept;
  ~ModelBuilder();

  std::string input(std::string name, DType dtype, std::vector<Dim> dims);
  void output(std::string name, DType dtype, std::vector<Dim> dims);
  std::string initializer(std::string name, Tensor value);
  // One output, called `output` or by a name of its own when that is empty. Returns its name.
  std::string node(std::string op, std::vector<std::string> inputs, Attributes attributes = {},
                   std::string output = {});
  // A node of any domain with any outputs, "" where one is left out. Other domains than ai.onnx are
  // imported as version 1.
  void node(std::string op, std::string domain, std::vector<std::string> inputs,
            std::vector<std::string> outputs, Attributes attributes = {});

  // Replaces the file in one step. Throws Error(io).
  void save(const std::filesystem::path& file) const;
  std::vector<std::byte> bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ondine
