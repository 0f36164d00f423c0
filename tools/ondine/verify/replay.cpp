// Makes the calls that a case of conformance/ lists and writes what they give, for a program that
// compares; conformance/README.md describes the files.
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include <ondine/replace_file.h>

#include "ondine/command.h"
#include "ondine/common.h"
#include "ondine/verify/files.h"

namespace ondine::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class Replay {
 public:
  Replay(fs::path folder, fs::path results, const LoadOptions& load)
      : folder_(std::move(folder)),
        results_(std::move(results)),
        load_(load),
        calls_(json::parse(read_text(folder_ / "case.json")).at("calls")) {
    if (calls_.empty() || calls_[0].at("call") != "load") {
      throw Error(ErrorCode::mismatch, "the first call of a case must be 'load'");
    }
  }

  // Index of the call that is running.
  std::size_t position() const { return position_; }

  void run() {
    const fs::path folder = folder_;
    for (const json& call : calls_) {
      const std::string set = "call_" + std::to_string(position_);
      const Results outputs = make(call, load_named(folder / set, "input_"));
      write(results_ / set, call, outputs);
      ++position_;
    }
  }

 private:
  Results make(const json& call, const NamedValues& feeds) {
    const std::string kind = call.at("call").get<std::string>();
    if (kind == "load") {
      model_.emplace(Model::load(folder_ / "model.onnx", load_));
      return {};
    }
    if (kind == "initialize") {
      model_->initialize(load_.seed);
      return {};
    }
    if (kind == "iterate") {
      for (const json& algorithm : call.at("algorithms")) {
        model_->train_step(feeds, algorithm.get<std::size_t>());
      }
      return {};
    }
    const auto fetches = call.at("outputs").get<std::vector<std::string>>();
    Results results;
    if (kind == "train") {
      results = model_->train_step(feeds, call.at("algorithm").get<std::size_t>(), fetches);
    } else if (kind == "infer") {
      results = model_->infer(feeds, fetches);
    } else {
      throw std::invalid_argument("unknown call '" + kind + "'");
    }
    // Without fetches a call returns all outputs.
    return fetches.empty() ? Results() : results;
  }

  void write(const fs::path& set, const json& call, const Results& outputs) const {
    fs::create_directories(set);
    std::size_t number = 0;
    for (const NamedValue& output : outputs) {
      save_value(set / ("output_" + std::to_string(number++) + ".pb"), output);
    }
    number = 0;
    for (const json& name : call.at("state")) {
      const std::string text = name.get<std::string>();
      save_value(set / ("state_" + std::to_string(number++) + ".pb"),
                 {text, model_->get_state(text)});
    }
  }

  const fs::path folder_;
  const fs::path results_;
  const LoadOptions load_;
  const json calls_;
  std::optional<Model> model_;
  std::size_t position_ = 0;
};

int run_replay(const CommandOptions& options) {
  const fs::path results = options.text("results");
  Replay replay(options.text("case"), results, load_of(options));
  json report{{"status", "done"}};
  try {
    replay.run();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::internal) throw;
    const bool lacking = error.code() == ErrorCode::unsupported;
    report = {{"status", lacking ? "unsupported" : "refused"}, {"message", error.what()}};
  }
  report["call"] = replay.position();
  fs::create_directories(results);
  replace_file(results / "report.json", [&](std::ostream& out) {
    out << report.dump(1, ' ', true, json::error_handler_t::replace) << '\n';
  });
  return 0;
}

}  // namespace

void add_replay(Parser& parser) {
  parser.add("replay", "Make the calls of a conformance case and write what they give",
             "  ondine replay conformance/cases/state/swap results\n", run_replay);
}

}  // namespace ondine::cli
