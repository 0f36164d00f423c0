#include "ondine/take_weights.h"

#include <charconv>
#include <iostream>
#include <utility>

#include <ondine/adapters.h>
#include <ondine/error.h>
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

Model with_adapter_folders(Model model, const std::vector<std::string>& texts,
                           const LoadOptions& load) {
  if (texts.empty()) return model;
  std::vector<AdapterFolder> folders;
  for (const std::string& text : texts) {
    const std::size_t at = text.rfind('=');
    AdapterFolder one{text.substr(0, at)};
    if (at != std::string::npos) {
      const std::string weight = text.substr(at + 1);
      const auto [end, error] =
          std::from_chars(weight.data(), weight.data() + weight.size(), one.weight);
      if (error != std::errc() || end != weight.data() + weight.size() || at == 0) {
        throw Error(ErrorCode::invalid_option,
                    "--adapter needs FOLDER or FOLDER=NUMBER, found " + text);
      }
    }
    folders.push_back(std::move(one));
  }
  return with_adapters(model, folders, load);
}

}  // namespace ondine::cli
