#include "ondine/take_weights.h"

#include <iostream>

#include <ondine/adapters.h>
#include <ondine/printable.h>

namespace ondine::cli {
namespace {

void tell(const std::string& what, const std::vector<std::string>& names) {
  constexpr std::size_t most = 5;
  if (names.empty()) return;
  std::cerr << "note: " << what << " (" << names.size() << "): ";
  for (std::size_t i = 0; i < names.size() && i < most; ++i) {
    std::cerr << (i == 0 ? "'" : ", '") << printable(names[i]) << '\'';
  }
  std::cerr << (names.size() > most ? ", ...\n" : "\n");
}

}  // namespace

bool is_safetensors(const std::string& file) { return file.ends_with(".safetensors"); }

void take_weights(Model& model, const std::string& file) {
  if (std::filesystem::is_directory(file)) return load_adapters(model, file);
  const WeightReport report = load_weights(model, file);
  tell("weights missing in '" + file + "' keep their values", report.missing);
  tell("tensors of '" + file + "' that are not state variables are ignored", report.unknown);
}

}  // namespace ondine::cli
