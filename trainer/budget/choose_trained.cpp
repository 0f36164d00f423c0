#include <ondine/train_budget.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <ondine/human_bytes.h>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "core/stop.h"
#include "trainer/budget/candidates.h"
#include "trainer/model/model_impl.h"

namespace ondine {
namespace {

using budget::Candidate;
using budget::whole;

constexpr std::size_t most_depths = 12;
// Parts that are tried one by one after the first that no longer fits.
constexpr std::size_t most_tries = 8;
// Depths that are looked at more closely, those with most gain.
constexpr std::size_t most_looks = 3;

void check_ways(const PrepareOptions& options, const TrainBudget& budget) {
  const auto refuse = [](const char* what, const char* name) {
    fail(ErrorCode::mismatch, "a budget of training (--train-budget) chooses among the network's ",
         "parameters; ", what, " (--", name, ") choose what trains themselves");
  };
  if (options.lora) refuse("adapters", "lora");
  if (options.ia3) refuse("factors", "ia3");
  if (options.prompt) refuse("prompts", "prompt-tokens");
  if (options.only_biases) refuse("biases alone", "only-biases");
  if (budget.bytes == 0 || budget.batches == 0) {
    fail(ErrorCode::invalid_option, "a budget of training needs a number of bytes and of batches");
  }
}

// Eighths that train of each candidate, by its number; those that train alone.
using Parts = std::map<std::size_t, unsigned>;

// A share of a candidate, which includes smaller ones of it.
struct Item {
  std::size_t candidate = 0;
  unsigned eighths = whole;
  double gain = 0;  // beyond that of the next smaller share
  std::uint64_t bytes = 0;
};
using Order = std::vector<Item>;

class Choice {
 public:
  Choice(const Model& network, const Dataset& sample, const PrepareOptions& options,
         const TrainBudget& budget, const LoadOptions& load)
      : network_(&network), options_(options), budget_(&budget), load_(load) {
    options_.last_layers.reset();
    PrepareReport report;
    // What `options` would train, from which alone is chosen.
    Model all = ondine::prepare(network, options, load_, &report);
    if (report.init != WeightInit::keep) {
      fail(ErrorCode::mismatch, "a budget of training (--train-budget) freezes parameters of a ",
           "network that has learned, but initialization would draw this one's: ",
           report.init_reason.empty() ? "as asked for (--init)" : report.init_reason);
    }
    options_.init = WeightInit::keep;
    all.initialize(load_.seed);
    auto [candidates, shapes] =
        budget::measure(all, sample, report.trained, options.optimizer, budget, load_.seed);
    candidates_ = std::move(candidates);
    shapes_ = std::move(shapes);
    if (!options.qat && !options.privacy) return;
    for (Candidate& one : candidates_) one.channels.clear();
  }

  TrainChoice choose() {
    Parts everything;
    for (std::size_t i = 0; i < candidates_.size(); ++i) everything.emplace(i, whole);
    const std::uint64_t all_bytes = bytes_of(everything);
    Taken best{everything, all_bytes};
    if (all_bytes > budget_->bytes) best = choose_part();
    return report(best, all_bytes);
  }

 private:
  struct Taken {
    Parts parts;
    std::uint64_t bytes = 0;  // of a step that trains them; 0: not planned, nothing fits
  };

  void improve(Taken& best, Taken taken) const {
    const bool fits = taken.bytes != 0 && taken.bytes <= budget_->bytes;
    if (fits && gain_of(taken.parts) > gain_of(best.parts)) best = std::move(taken);
  }

  Taken choose_part() {
    Taken best;
    std::vector<std::pair<double, std::size_t>> ranked;  // gain, depth
    for (const std::size_t depth : depths()) {
      Parts head;
      const Order order = order_above(depth, true, head);
      Taken taken = take_first(head, order).first;
      ranked.emplace_back(taken.bytes == 0 ? 0 : gain_of(taken.parts), depth);
      improve(best, std::move(taken));
    }
    std::ranges::sort(ranked, std::greater());  // the smallest step first among equals
    for (std::size_t i = 0; i < std::min(most_looks, ranked.size()); ++i) {
      for (Taken& taken : choose_above(ranked[i].second)) improve(best, std::move(taken));
    }
    for (const auto& [gain, depth] : ranked) {
      if (best.parts.empty()) improve(best, smallest_above(depth));
    }
    if (!best.parts.empty()) return best;
    const auto least =
        std::ranges::min_element(planned_, {}, &std::map<Parts, std::uint64_t>::value_type::second);
    fail(ErrorCode::limit, "a step takes at least ", least->second,
         " bytes where a single parameter ", "trains, the budget of training (--train-budget) is ",
         budget_->bytes);
  }

  TrainChoice report(const Taken& best, std::uint64_t all_bytes) const {
    TrainChoice choice;
    choice.gain = gain_of(best.parts);
    choice.bytes = best.bytes;
    choice.all_bytes = all_bytes;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const Candidate& one = candidates_[i];
      ParameterGain gain{one.name, one.elements, one.gain};
      if (const auto taken = best.parts.find(i); taken != best.parts.end()) {
        choice.train.push_back(one.pattern(taken->second));
        gain.trained = true;
        gain.trained_gain = one.gain_of(taken->second);
        if (taken->second != whole) gain.channels = one.chosen(taken->second);
      }
      choice.parameters.push_back(std::move(gain));
    }
    std::ranges::sort(choice.train);
    std::ranges::stable_sort(choice.parameters, std::greater(), &ParameterGain::gain);
    return choice;
  }

  // The depths to try: the first nodes of parameters, the deepest of each part.
  std::vector<std::size_t> depths() const {
    std::set<std::size_t> all;
    for (const Candidate& one : candidates_) all.insert(one.depth);
    const std::vector<std::size_t> sorted(all.begin(), all.end());
    std::vector<std::size_t> result;
    const std::size_t step = (sorted.size() + most_depths - 1) / most_depths;
    for (std::size_t i = 0; i < sorted.size(); i += step) result.push_back(sorted[i]);
    if (result.back() != sorted.back()) result.push_back(sorted.back());
    return result;
  }

  double gain_of(const Parts& parts) const {
    double gain = 0;
    for (const auto& [number, eighths] : parts) gain += candidates_[number].gain_of(eighths);
    return gain;
  }

  std::uint64_t bytes_of(const Parts& parts) {
    const auto known = planned_.find(parts);
    if (known != planned_.end()) return known->second;
    check_stop();
    PrepareOptions options = options_;
    options.train.clear();
    for (const auto& [number, eighths] : parts) {
      options.train.push_back(candidates_[number].pattern(eighths));
    }
    const Model model = ondine::prepare(*network_, options, load_);
    const PlanReport plan = model.plan_report({shapes_, 0});
    const std::uint64_t bytes = plan.arena_bytes + plan.state_bytes + plan.constant_bytes;
    planned_.emplace(parts, bytes);
    return bytes;
  }

  bool is_of_new_head(const std::string& name) const {
    return options_.head && (name.starts_with("head.weight") || name.starts_with("head.bias"));
  }

  // Shares of the parameters that are read from this depth on, those of a new head apart.
  Order order_above(std::size_t depth, bool in_channels, Parts& head) const {
    Order order;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const Candidate& one = candidates_[i];
      if (is_of_new_head(one.name)) {
        head.emplace(i, whole);
        continue;
      }
      if (one.depth < depth) continue;
      Item before;
      for (const unsigned eighths : budget::shares) {
        const bool is_whole = eighths == whole;
        if (!is_whole && (!in_channels || one.channels.empty())) continue;
        const std::uint64_t bytes = one.bytes_of(eighths) + 1;
        order.push_back({i, eighths, one.gain_of(eighths) - before.gain, bytes - before.bytes});
        before.gain = one.gain_of(eighths);
        before.bytes = bytes;
      }
    }
    std::ranges::stable_sort(order, [](const Item& a, const Item& b) {
      return a.gain * static_cast<double>(b.bytes) > b.gain * static_cast<double>(a.bytes);
    });
    return order;
  }

  // The smallest set of parameters that are read from this depth on; it may exceed the budget.
  Taken smallest_above(std::size_t depth) {
    Parts parts;
    const Order order = order_above(depth, false, parts);
    if (parts.empty()) {
      parts.emplace(std::ranges::min_element(order, {}, &Item::bytes)->candidate, whole);
    }
    return {parts, bytes_of(parts)};
  }

  // Sets of parameters that are read from this depth on: those with most gain for their bytes,
  // whole or in channels, and those with most gain. All have a new head.
  std::vector<Taken> choose_above(std::size_t depth) {
    Parts head;
    const Order order = order_above(depth, false, head);
    const Order in_channels = order_above(depth, true, head);
    std::vector<Taken> taken{take_more(head, order)};
    if (in_channels.size() > order.size()) {
      // Channels of other tensors take the rest of the budget.
      if (taken[0].bytes != 0) {
        taken.push_back(taken[0]);
        add_each(taken.back(), in_channels, 0);
      }
      taken.push_back(take_more(head, in_channels));
    }
    Order by_gain = order;
    std::ranges::stable_sort(by_gain, std::greater(), &Item::gain);
    taken.push_back({head, 0});
    add_each(taken.back(), by_gain, 0);
    return taken;
  }

  static bool add(Parts& parts, const Item& item) {
    unsigned& eighths = parts[item.candidate];
    if (item.eighths <= eighths) return false;
    eighths = item.eighths;
    return true;
  }

  // As many of the first items as fit, and their number.
  std::pair<Taken, std::size_t> take_first(const Parts& head, const Order& order) {
    Taken taken{head, 0};
    std::size_t fits = 0;
    std::size_t exceeds = order.size() + 1;
    while (exceeds - fits > 1) {
      const std::size_t middle = fits + (exceeds - fits) / 2;
      Parts more = head;
      for (std::size_t i = 0; i < middle; ++i) add(more, order[i]);
      const std::uint64_t needed = bytes_of(more);
      if (needed > budget_->bytes) {
        exceeds = middle;
      } else {
        fits = middle;
        taken = {std::move(more), needed};
      }
    }
    return {std::move(taken), fits};
  }

  // These, and some behind them.
  Taken take_more(const Parts& head, const Order& order) {
    auto [taken, count] = take_first(head, order);
    add_each(taken, order, count);
    return std::move(taken);
  }

  // Tries some items from this one on, each of which stays if the budget has room for it.
  void add_each(Taken& taken, const Order& order, std::size_t first) {
    std::size_t tries = 0;
    for (std::size_t i = first; i < order.size() && tries < most_tries; ++i) {
      Parts more = taken.parts;
      if (!add(more, order[i])) continue;
      ++tries;
      const std::uint64_t needed = bytes_of(more);
      if (needed <= budget_->bytes) taken = {std::move(more), needed};
    }
  }

  const Model* network_;
  PrepareOptions options_;
  const TrainBudget* budget_;
  LoadOptions load_;
  std::map<Parts, std::uint64_t> planned_;  // bytes of steps; depths share many sets
  budget::Shapes shapes_;
  std::vector<Candidate> candidates_;
};

}  // namespace

std::string to_string(const TrainChoice& choice) {
  const auto in_part = std::ranges::count_if(
      choice.parameters, [](const ParameterGain& one) { return !one.channels.empty(); });
  return cat(choice.train.size(), " of ", choice.parameters.size(), " parameters train, ",
             in_part == 0 ? std::string() : cat(in_part, " of them in some channels, "), "with ",
             std::round(1000 * choice.gain) / 10, " % of the gain; a step takes ",
             human_bytes(choice.bytes), ", one of all ", human_bytes(choice.all_bytes));
}

void keep_to(const TrainChoice& choice, PrepareOptions& options) {
  options.train = choice.train;
  options.last_layers.reset();
  options.init = WeightInit::keep;
}

TrainChoice choose_trained(const Model& network, const Dataset& sample,
                           const PrepareOptions& options, const TrainBudget& budget,
                           const LoadOptions& load) {
  return guard_memory("choose what trains", [&] {
    const StopScope scope(stop_of(load));
    check_ways(options, budget);
    return Choice(network, sample, options, budget, load).choose();
  });
}

}  // namespace ondine
