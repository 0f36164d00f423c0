#include <ondine/train_budget.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>

#include <ondine/data.h>
#include <ondine/human_bytes.h>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "core/stop.h"
#include "core/to_doubles.h"
#include "trainer/budget/parameter_places.h"
#include "trainer/model/model_impl.h"

namespace ondine {
namespace {

constexpr std::uint64_t default_rows = 32;
constexpr std::size_t most_depths = 12;
// Parameters that are tried one by one after the first that no longer fits.
constexpr std::size_t most_tries = 8;

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

struct Candidate {
  std::string name;
  double gain = 0;
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;  // about what it adds to a step
  std::size_t depth = 0;
};

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
    measure(all, sample, report);
  }

  TrainChoice choose() {
    TrainChoice best;
    best.all_bytes = bytes_of(names_of(candidates_));
    for (const std::size_t depth : depths()) {
      for (const Taken& taken : choose_above(depth)) {
        const double gain = gain_of(taken.names);
        const bool fits = taken.bytes != 0 && taken.bytes <= budget_->bytes;
        if (!fits || gain <= best.gain) continue;
        best.train.assign(taken.names.begin(), taken.names.end());
        best.gain = gain;
        best.bytes = taken.bytes;
      }
    }
    if (best.train.empty()) {
      const auto least = std::ranges::min_element(
          planned_, {}, &std::map<Names, std::uint64_t>::value_type::second);
      fail(ErrorCode::limit, "a step takes at least ", least->second,
           " bytes where a single parameter ",
           "trains, the budget of training (--train-budget) is ", budget_->bytes);
    }
    for (const Candidate& one : candidates_) {
      const bool is_chosen = std::ranges::count(best.train, one.name) > 0;
      best.parameters.push_back({one.name, one.elements, one.gain, is_chosen});
    }
    std::ranges::stable_sort(best.parameters, std::greater(), &ParameterGain::gain);
    return best;
  }

 private:
  using Names = std::set<std::string>;
  using Order = std::vector<const Candidate*>;
  struct Taken {
    Names names;
    std::uint64_t bytes = 0;  // of a step that trains them; 0: not planned, nothing fits
  };

  std::uint64_t rows_of_step(const std::vector<PortInfo>& inputs) const {
    for (const PortInfo& input : inputs) {
      const bool is_fixed = !input.has_default && input.dims && !input.dims->empty();
      if (is_fixed && input.dims->front() > 0) {
        return static_cast<std::uint64_t>(input.dims->front());
      }
    }
    return budget_->rows != 0 ? budget_->rows : default_rows;
  }

  void measure(const Model& all, const Dataset& sample, const PrepareReport& report) {
    BatchOptions how;
    how.seed = load_.seed;
    how.inputs = all.algorithm(0).inputs;
    const std::uint64_t rows = std::min(rows_of_step(how.inputs), sample.rows());
    std::map<std::string, std::vector<double>> sums;
    std::uint64_t taken = 0;
    for (const Batch& batch : sample.batches(rows, how)) {
      if (taken == 0) take_shapes(batch.feeds());
      add_derivatives(all.gradients(batch.feeds()), sums);
      if (++taken == budget_->batches) break;
    }
    if (taken == 0) {
      fail(ErrorCode::mismatch, "the sample has ", sample.rows(), " rows, a batch needs ", rows);
    }
    make_candidates(all, report, sums, static_cast<double>(taken));
  }

  void take_shapes(std::span<const NamedValue> feeds) {
    for (const auto& [name, value] : feeds) shapes_.emplace_back(name, value.tensor().shape());
  }

  static void add_derivatives(const Results& derivatives,
                              std::map<std::string, std::vector<double>>& sums) {
    for (const auto& [name, value] : derivatives) {
      const std::vector<double> numbers = to_doubles(value.tensor()).value();
      std::vector<double>& sum = sums[name];
      sum.resize(numbers.size());
      for (std::size_t i = 0; i < numbers.size(); ++i) sum[i] += numbers[i];
    }
  }

  double gain_of(const std::vector<double>& sum, double batches) const {
    const bool is_plain = std::holds_alternative<Sgd>(options_.optimizer) ||
                          std::holds_alternative<Momentum>(options_.optimizer) ||
                          std::holds_alternative<Nesterov>(options_.optimizer);
    double gain = 0;
    for (const double one : sum) {
      const double mean = one / batches;
      gain += is_plain ? mean * mean : std::abs(mean);
    }
    return gain;
  }

  void make_candidates(const Model& all, const PrepareReport& report,
                       const std::map<std::string, std::vector<double>>& sums, double batches) {
    auto shapes = shapes_;
    const std::vector<PortInfo> inputs = all.inputs();
    std::erase_if(shapes, [&](const auto& shape) {
      return std::ranges::count(inputs, shape.first, &PortInfo::name) == 0;
    });
    const auto places = budget::parameter_places(all, shapes);
    const PlanReport plan = all.plan_report({shapes_, 0});
    std::uint64_t elements = 0;
    for (const auto& [name, sum] : sums) elements += sum.size();
    const double state_of_one = static_cast<double>(plan.state_bytes) /
                                static_cast<double>(std::max<std::uint64_t>(elements, 1));
    double total = 0;
    for (const std::string& name : report.trained) {
      const auto sum = sums.find(name);
      if (sum == sums.end()) {
        fail(ErrorCode::unsupported, "a step takes no derivative by ", quoted(name),
             ", so that a budget of training cannot be shared out");
      }
      Candidate one{name, gain_of(sum->second, batches), sum->second.size()};
      const auto place = places.find(name);
      if (place != places.end()) one.depth = place->second.depth;
      const bool keeps_data = place != places.end() && all.get_state(name).shape().rank() > 1;
      one.bytes = static_cast<std::uint64_t>(state_of_one * static_cast<double>(one.elements)) +
                  (keeps_data ? place->second.kept_bytes : 0) + 1;
      total += one.gain;
      candidates_.push_back(std::move(one));
    }
    if (!(total > 0) || !std::isfinite(total)) {
      fail(ErrorCode::not_finite, "the derivatives on the sample are all 0 or not finite");
    }
    for (Candidate& one : candidates_) one.gain /= total;
    std::ranges::stable_sort(candidates_, [](const Candidate& a, const Candidate& b) {
      return a.gain * static_cast<double>(b.bytes) > b.gain * static_cast<double>(a.bytes);
    });
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

  static Names names_of(const std::vector<Candidate>& candidates) {
    Names names;
    for (const Candidate& one : candidates) names.insert(one.name);
    return names;
  }

  double gain_of(const Names& names) const {
    double gain = 0;
    for (const Candidate& one : candidates_) gain += names.contains(one.name) ? one.gain : 0;
    return gain;
  }

  std::uint64_t bytes_of(const Names& names) {
    const auto known = planned_.find(names);
    if (known != planned_.end()) return known->second;
    check_stop();
    PrepareOptions options = options_;
    options.train.assign(names.begin(), names.end());
    const Model model = ondine::prepare(*network_, options, load_);
    const PlanReport plan = model.plan_report({shapes_, 0});
    const std::uint64_t bytes = plan.arena_bytes + plan.state_bytes + plan.constant_bytes;
    planned_.emplace(names, bytes);
    return bytes;
  }

  bool is_of_new_head(const std::string& name) const {
    return options_.head && (name.starts_with("head.weight") || name.starts_with("head.bias"));
  }

  // Sets of parameters that are read from this depth on: those with most gain for their bytes,
  // those with most gain, and the smallest one, which may exceed the budget. All have a new head.
  std::vector<Taken> choose_above(std::size_t depth) {
    Names head;
    Order order;
    for (const Candidate& one : candidates_) {
      if (is_of_new_head(one.name)) {
        head.insert(one.name);
      } else if (one.depth >= depth) {
        order.push_back(&one);
      }
    }
    if (order.empty()) return {{head, bytes_of(head)}};
    std::vector<Taken> taken{take_first(head, order)};
    Order by_gain = order;
    std::ranges::stable_sort(by_gain, std::greater(), &Candidate::gain);
    taken.push_back({head, 0});
    add_each(taken.back(), by_gain, 0);
    Names smallest = head;
    if (head.empty())
      smallest.insert((*std::ranges::min_element(order, {}, &Candidate::bytes))->name);
    taken.push_back({smallest, bytes_of(smallest)});
    return taken;
  }

  // As many of the first parameters as fit, and some behind these.
  Taken take_first(const Names& head, const Order& order) {
    Taken taken{head, 0};
    std::size_t fits = 0;
    std::size_t exceeds = order.size() + 1;
    while (exceeds - fits > 1) {
      const std::size_t middle = fits + (exceeds - fits) / 2;
      Names more = head;
      for (std::size_t i = 0; i < middle; ++i) more.insert(order[i]->name);
      const std::uint64_t needed = bytes_of(more);
      if (needed > budget_->bytes) {
        exceeds = middle;
      } else {
        fits = middle;
        taken = {std::move(more), needed};
      }
    }
    add_each(taken, order, exceeds);
    return taken;
  }

  // Tries some parameters from this one on, each of which stays if the budget has room for it.
  void add_each(Taken& taken, const Order& order, std::size_t first) {
    for (std::size_t i = first; i < std::min(order.size(), first + most_tries); ++i) {
      Names more = taken.names;
      more.insert(order[i]->name);
      const std::uint64_t needed = bytes_of(more);
      if (needed <= budget_->bytes) taken = {std::move(more), needed};
    }
  }

  const Model* network_;
  PrepareOptions options_;
  const TrainBudget* budget_;
  LoadOptions load_;
  std::map<Names, std::uint64_t> planned_;  // bytes of steps; depths share many sets
  std::vector<std::pair<std::string, Shape>> shapes_;
  std::vector<Candidate> candidates_;  // those first that give most for their bytes
};

}  // namespace

std::string to_string(const TrainChoice& choice) {
  return cat(choice.train.size(), " of ", choice.parameters.size(), " parameters train, with ",
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
