#include "tests/fuzz/outcome.h"

#include <algorithm>

#include "tests/fuzz/try_model.h"
#include "tests/fuzz/usual_feeds.h"

namespace ondine::test {
namespace {

bool same(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Value::Kind::none:
      return true;
    case Value::Kind::tensor:
      return a.tensor().identical(b.tensor());
    case Value::Kind::sparse_tensor:
      return a.tensor().identical(b.tensor()) && a.keys().identical(b.keys());
    case Value::Kind::map:
      if (!a.keys().identical(b.keys())) return false;
      break;
    default:
      break;
  }
  return std::ranges::equal(a.elements(), b.elements(), same);
}

std::string difference(const NamedValues& a, const NamedValues& b) {
  if (a.size() != b.size()) return "the number of values";
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].first != b[i].first || !same(a[i].second, b[i].second)) return a[i].first;
  }
  return "";
}

}  // namespace

Outcome outcome_of(Model& model, const std::vector<std::uint8_t>& settings) {
  Outcome outcome;
  Choices choices(settings);
  const auto call = [&](auto&& run) {
    std::string refusal;
    NamedValues results;
    if (refuses([&] { results = run(); }, &refusal)) {
      outcome.refusals.push_back(refusal.substr(0, refusal.find('\n')));
    }
    for (NamedValue& one : results) outcome.results.push_back(std::move(one));
  };
  const NamedValues feeds = usual_feeds(choices, model.inputs());
  call([&]() -> NamedValues { return model.infer(feeds); });
  for (std::size_t i = 0; i < std::min<std::size_t>(model.algorithm_count(), 2); ++i) {
    const NamedValues fed = usual_feeds(choices, model.algorithm(i).inputs);
    call([&]() -> NamedValues { return model.train_step(fed, i); });
  }
  call([&]() -> NamedValues { return model.infer(feeds); });
  for (const StateInfo& one : model.state()) {
    outcome.state.emplace_back(one.name, model.get_state(one.name));
  }
  return outcome;
}

std::string difference(const Outcome& a, const Outcome& b) {
  for (std::size_t i = 0; i < std::max(a.refusals.size(), b.refusals.size()); ++i) {
    if (i >= a.refusals.size()) return "refused: " + b.refusals[i];
    if (i >= b.refusals.size()) return "not refused: " + a.refusals[i];
    if (a.refusals[i] != b.refusals[i]) return a.refusals[i] + " / " + b.refusals[i];
  }
  const std::string result = difference(a.results, b.results);
  return result.empty() ? difference(a.state, b.state) : result;
}

}  // namespace ondine::test
