// Makes the calls that a case of conformance/ lists and writes what they give, for a program that
// compares; conformance/README.md describes the files.
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "ondine/command.h"
#include "ondine/common.h"
#include "ondine/verify/files.h"

namespace ondine::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Options {
  std::string folder;
  std::string results;
  std::uint64_t seed = 0;
};

class Replay {
 public:
  explicit Replay(const Options& options) : options_(options) {}

  // Index of the call that is running.
  std::size_t position() const { return position_; }

  void run() {
    const fs::path folder = options_.folder;
    const json plan = json::parse(read_text(folder / "case.json"));
    for (const json& call : plan.at("calls")) {
      const std::string set = "test_data_set_" + std::to_string(position_);
      const NamedValues outputs = make(call, load_named(folder / set, "input_"));
      write(fs::path(options_.results) / set, call, outputs);
      ++position_;
    }
  }

 private:
  NamedValues make(const json& call, const NamedValues& feeds) {
    const std::string kind = call.at("call").get<std::string>();
    if (kind == "load") {
      model_.emplace(
          Model::load(fs::path(options_.folder) / "model.onnx", {.seed = options_.seed}));
      return {};
    }
    if (!model_) throw Error(ErrorCode::mismatch, "the first call of a case must be 'load'");
    if (kind == "initialize") {
      model_->initialize(options_.seed);
      return {};
    }
    const auto fetches = call.at("outputs").get<std::vector<std::string>>();
    if (kind == "train") {
      return keep(fetches,
                  model_->train_step(feeds, call.at("algorithm").get<std::size_t>(), fetches));
    }
    if (kind == "infer") return keep(fetches, model_->infer(feeds, fetches));
    throw Error(ErrorCode::mismatch, "unknown call '" + kind + "'");
  }

  // Without fetches a call returns all outputs.
  static NamedValues keep(const std::vector<std::string>& fetches, const Results& results) {
    return fetches.empty() ? NamedValues() : NamedValues(results.begin(), results.end());
  }

  void write(const fs::path& set, const json& call, const NamedValues& outputs) const {
    fs::create_directories(set);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      save_value(set / ("output_" + std::to_string(i) + ".pb"), outputs[i]);
    }
    std::size_t number = 0;
    for (const json& name : call.at("state")) {
      const std::string text = name.get<std::string>();
      save_value(set / ("state_" + std::to_string(number++) + ".pb"),
                 {text, model_->get_state(text)});
    }
  }

  const Options& options_;
  std::optional<Model> model_;
  std::size_t position_ = 0;
};

int run(const Options& options) {
  Replay replay(options);
  json report{{"status", "done"}};
  try {
    replay.run();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::internal) throw;
    const bool lacking = error.code() == ErrorCode::unsupported;
    report = {{"status", lacking ? "unsupported" : "refused"}, {"message", error.what()}};
  }
  report["call"] = replay.position();
  fs::create_directories(options.results);
  std::ofstream out(fs::path(options.results) / "report.json", std::ios::binary);
  out << report.dump(1, ' ', true, json::error_handler_t::replace) << '\n';
  if (!out.flush()) throw Error(ErrorCode::io, "cannot write to '" + options.results + "'");
  return 0;
}

}  // namespace

void add_replay(Parser& parser) {
  auto options = std::make_shared<Options>();
  Command command =
      parser.add("replay", "Make the calls of a conformance case and write what they give",
                 "  ondine replay conformance/cases/state/swap results\n");
  command.option("CASE", &options->folder, "Folder with model.onnx and case.json").required();
  command.option("RESULTS", &options->results, "Folder to write to").required();
  command.option("--seed", &options->seed, "Seed of random operators");
  command.runs([options] { return run(*options); });
}

}  // namespace ondine::cli
