#include <iostream>
#include <nlohmann/json.hpp>

#include "ondine/common.h"
#include "ondine/system.h"
#include "ondine/verify/expectation.h"
#include "ondine/verify/files.h"
#include "ondine/verify/verdict.h"

namespace ondine::cli {
namespace {

using nlohmann::json;

LoadOptions careful(const VerifyOptions& verify) {
  LoadOptions options = verify.load;
  options.limits.loop_iterations = 1'000'000;
  options.limits.arena_bytes = std::uint64_t{1} << 30;
  options.limits.tensor_bytes = std::uint64_t{1} << 30;
  options.limits.weight_bytes = std::uint64_t{1} << 30;
  return options;
}

void call(Model& model, const std::string& what, const NamedValues& feeds) {
  if (what == "initialize") model.initialize(1);
  if (what == "train_step") model.train_step(feeds);
  if (what == "infer") model.infer(feeds);
}

std::vector<Tensor> state_of(const Model& model) {
  std::vector<Tensor> result;
  for (const StateInfo& one : model.state()) result.push_back(model.get_state(one.name));
  return result;
}

bool same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!a[i].identical(b[i])) return false;
  }
  return a.size() == b.size();
}

void put_error(json& report, const char* stage, const Error& error) {
  report["stage"] = stage;
  report["code"] = to_string(error.code());
  report["message"] = std::string(error.what());
}

// Repeats the failed call; whether it fails with the same error code.
bool fails_again(Model& model, const std::string& what, const NamedValues& feeds, ErrorCode code) {
  try {
    call(model, what, feeds);
  } catch (const Error& error) {
    return error.code() == code;
  }
  return false;
}

void run_calls(Model& model, const Expectation& expected, const NamedValues& feeds, json& report) {
  const std::vector<Tensor> before = state_of(model);
  try {
    call(model, expected.call, feeds);
    report["stage"] = "done";
  } catch (const Error& error) {
    put_error(report, "call", error);
    report["state_kept"] = same(before, state_of(model));
    report["usable"] = fails_again(model, expected.call, feeds, error.code());
  }
}

}  // namespace

int run_hostile_child(const std::filesystem::path& folder, const VerifyOptions& options) {
  const Expectation expected = read_expectation(folder / "expect");
  const NamedValues feeds = load_named(folder, "input_");
  json report;
  const double start = processor_seconds();
  try {
    Model model = Model::load(folder / "model.onnx", careful(options));
    report["load_seconds"] = processor_seconds() - start;
    model.set_deadline(std::chrono::seconds(5));
    run_calls(model, expected, feeds, report);
  } catch (const Error& error) {
    report["load_seconds"] = processor_seconds() - start;
    put_error(report, "load", error);
  }
  std::cout << report.dump(-1, ' ', true, json::error_handler_t::replace) << '\n';
  return 0;
}

}  // namespace ondine::cli
