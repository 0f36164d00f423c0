// The command `generate`: text that a language model writes, as it comes.
#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <ondine/dataset.h>
#include <ondine/generate.h>
#include <ondine/import_hugging_face.h>
#include <ondine/printable.h>

#include "ondine/command.h"
#include "ondine/common.h"
#include "ondine/system.h"
#include "ondine/take_checkpoint.h"
#include "ondine/take_weights.h"

namespace ondine::cli {
namespace {

std::string count_of_tokens(std::uint64_t tokens) {
  return std::to_string(tokens) + (tokens == 1 ? " token" : " tokens");
}

std::string tokens_and_rate(std::uint64_t tokens, double seconds) {
  std::string text = count_of_tokens(tokens);
  if (tokens > 0 && seconds > 0) {
    text += ", " + number(static_cast<double>(tokens) / seconds) + " tokens/s";
  }
  return text;
}

void print(const GenerateReport& report) {
  // Reading the prompt gives the first token.
  const std::uint64_t steps = report.tokens.empty() ? 0 : report.tokens.size() - 1;
  std::cerr << "prefill: " << tokens_and_rate(report.prompt_tokens, report.prefill_seconds)
            << "\ndecoding: " << tokens_and_rate(steps, report.decode_seconds)
            << "\ntext: " << count_of_tokens(report.tokens.size()) << ", ended by "
            << to_string(report.end) << "\ncache: " << to_string(report.cache)
            << (report.no_cache.empty() ? "" : ", since " + report.no_cache) << '\n';
  if (!report.context.empty()) std::cerr << "length: " << report.context << '\n';
}

bool write(std::string_view part) {
  std::cout << part << std::flush;
  return true;
}

// Answers messages of the user, which stay part of the conversation with what was answered.
class Chat {
 public:
  Chat(const Generator& generator, const CommandOptions& options)
      : generator_(&generator), is_quiet_(options.has("quiet")) {
    const std::string system = options.text("system");
    if (!system.empty()) messages_.push_back({"system", system});
  }

  void answer(const std::string& message) {
    messages_.push_back({"user", message});
    const GenerateReport report = generator_->answer(messages_, write);
    std::cout << '\n' << std::flush;
    messages_.push_back({"assistant", report.text});
    if (!is_quiet_) print(report);
  }

  void answer_lines() {
    const bool asks = !is_quiet_ && is_terminal(Stream::in);
    const auto next = [&](std::string& line) {
      if (asks) std::cerr << "> " << std::flush;
      return static_cast<bool>(std::getline(std::cin, line));
    };
    for (std::string line; next(line);) {
      if (!line.empty()) answer(line);
    }
  }

 private:
  const Generator* generator_;
  bool is_quiet_;
  std::vector<ChatMessage> messages_;
};

void generate(const Generator& generator, const CommandOptions& options) {
  if (options.has("chat")) {
    Chat chat(generator, options);
    // Each line of the standard input.
    const std::string message = options.text("chat");
    return message == "-" ? chat.answer_lines() : chat.answer(message);
  }
  const GenerateReport report = generator.generate(options.text("prompt"), write);
  std::cout << '\n';
  if (!options.has("quiet")) print(report);
}

// Adds how the folder chooses tokens, unless an option of the command says how.
void add_choice(const OptionValues& of_folder, OptionValues& given, bool is_quiet) {
  constexpr std::array<std::string_view, 6> choices{"temperature", "top-k",          "top-p",
                                                    "min-p",       "repeat-penalty", "seed"};
  const auto is_choice = [&](const auto& one) {
    return std::ranges::find(choices, one.first) != choices.end();
  };
  if (of_folder.empty() || std::ranges::any_of(given, is_choice)) return;
  given.insert(given.end(), of_folder.begin(), of_folder.end());
  if (is_quiet) return;
  std::cerr << "note: tokens are chosen as the folder says:";
  for (const auto& [name, value] : of_folder) {
    std::cerr << " --" << name << ' ' << printable(value);
  }
  std::cerr << '\n';
}

// A file, or a folder of Hugging Face or onnxruntime-genai.
Model open_model(const CommandOptions& options, OptionValues& generate) {
  const std::string place = options.text("model");
  const LoadOptions load = load_of(options);
  if (!std::filesystem::is_directory(place)) return Model::load(place, load);
  ImportHuggingFaceReport report;
  Model model = import_hugging_face(place, {.cache = true}, load, &report);
  for (const std::string& note : report.notes) {
    if (!options.has("quiet")) std::cerr << "note: " << printable(note) << '\n';
  }
  add_choice(report.generate, generate, options.has("quiet"));
  return model;
}

int run_generate(const CommandOptions& options) {
  if (!options.has("prompt") && !options.has("chat")) {
    throw WrongUsage("--prompt or --chat is needed");
  }
  OptionValues choice = options.of(OptionGroup::generate);
  generate_options(choice, OptionSpelling::dashes);  // refused before the model is read
  const LoadOptions load = load_of(options);
  note_precision(load);
  Model model = open_model(options, choice);
  GenerateOptions how = generate_options(choice, OptionSpelling::dashes);
  const std::size_t warned = print_warnings(model);
  if (options.has("checkpoint")) take_checkpoint(model, options.text("checkpoint"));
  model = with_adapter_folders(std::move(model), options.texts("adapter"), load);
  const TextOptions text = dataset_options(options.of(OptionGroup::data), model, DataUse::inference,
                                           OptionSpelling::dashes)
                               .text;
  how.encoding = text.encoding;
  how.chat_template = text.next.chat_template;
  generate(Generator(model, how), options);
  print_warnings(model, warned);
  return 0;
}

}  // namespace

void add_generate(Parser& parser) {
  parser.add(
      "generate", "Write text with a language model, as it comes",
      "  ondine generate model.onnx --tokenizer tokenizer.json --prompt 'In the beginning'\n"
      "  ondine generate tuned.onnx --prompt 'define: river' --temperature 0.7 --top-k 40 \\\n"
      "      --top-p 0.9 --stop END --max-tokens 200 --seed 1\n"
      "  ondine generate tuned.onnx --chat 'What is a river?' --chat-template chatml\n",
      run_generate);
}

}  // namespace ondine::cli
