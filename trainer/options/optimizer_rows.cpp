// The optimizer and its coefficients.
#include <variant>

#include "trainer/options/parse.h"
#include "trainer/options/prepare_parts.h"

namespace ondine::options {
namespace {

// Sets a coefficient of the chosen optimizer; conditions keep it from others.
template <class Set>
auto coefficient(Set set) {
  return [set](PrepareTarget& to, double value) {
    std::visit([&](auto& one) { set(one, static_cast<float>(value)); }, to.options.optimizer);
  };
}

template <class Set>
auto whole(Set set) {
  return [set](PrepareTarget& to, std::int64_t value) {
    std::visit([&](auto& one) { set(one, value); }, to.options.optimizer);
  };
}

// Stochastic gradient descent with momentum, as in PyTorch, is the optimizer momentum.
void set_momentum(PrepareTarget& to, double value) {
  if (std::holds_alternative<Sgd>(to.options.optimizer)) {
    if (value == 0) return;
    to.options.optimizer = Momentum{};
  }
  coefficient([](auto& one, float momentum) {
    if constexpr (requires { one.momentum; }) one.momentum = momentum;
  })(to, value);
}

void add_decay_scales(PrepareTarget& to, const Given& given) {
  for (const std::string& text : given.texts()) {
    const auto [pattern, scale] = pattern_and_number(text, given.option());
    to.options.decay_groups.push_back({pattern, static_cast<float>(scale)});
  }
}

// Options of optimizers that keep moments in a space of few dims, and of losses beside the
// parameters.
void add_projections(Rows<PrepareTarget>& rows) {
  rows.integer("projection-rank", "RANK", "Dims of the space in which moments of a matrix are kept",
               whole([](auto& one, std::int64_t rank) {
                 if constexpr (requires { one.rank; }) one.rank = static_cast<std::uint16_t>(rank);
               }))
      .within(1, 65535)
      .by_default("128")
      .with("optimizer", {"galore", "apollo"});
  rows.integer("projection-every", "STEPS", "Steps after which that space is chosen anew",
               whole([](auto& one, std::int64_t steps) {
                 if constexpr (requires { one.every; })
                   one.every = static_cast<std::uint16_t>(steps);
               }))
      .within(1, 65535)
      .by_default("200")
      .with("optimizer", {"galore", "apollo"});
  rows.real("projection-scale", "FACTOR",
            "Factor of steps in that space; if absent 0.25 for galore, 1 for apollo",
            coefficient([](auto& one, float scale) {
              if constexpr (requires { one.scale; }) one.scale = scale;
            }))
      .above(0)
      .with("optimizer", {"galore", "apollo"});
  rows.real("distance", "FACTOR",
            "Factor of the normal numbers at which mezo takes losses; 0.001 if absent",
            coefficient([](auto& one, float distance) {
              if constexpr (requires { one.distance; }) one.distance = distance;
            }))
      .above(0)
      .with("optimizer", {"mezo"});
}

}  // namespace

void add_optimizers(Rows<PrepareTarget>& rows) {
  rows.heading("Optimizer");
  rows.choice<Optimizer>(
          "optimizer",
          {{"sgd", Sgd{}},
           {"momentum", Momentum{}},
           {"nesterov", Nesterov{}},
           {"adagrad", Adagrad{}},
           {"adam", Adam{}},
           {"adamw", AdamW{}},
           {"lion", Lion{}},
           {"adafactor", Adafactor{}},
           {"muon", Muon{}},
           {"schedule-free", ScheduleFree{}},
           {"adamw-8bit", AdamW8{}},
           {"galore", GaLore{}},
           {"apollo", Apollo{}},
           {"mezo", Mezo{}}},
          "Rule of the updates",
          [](PrepareTarget& to, const Optimizer& value) { to.options.optimizer = value; })
      .by_default("sgd");
  rows.real("momentum", "MOMENTUM", "Momentum coefficient, for sgd, momentum, nesterov and muon",
            set_momentum)
      .from(0)
      .below(1)
      .with("optimizer", {"sgd", "momentum", "nesterov", "muon"});
  rows.real("learning-rate", "RATE",
            "Default learning rate; if absent 0.01 for sgd, momentum, nesterov, adagrad and "
            "adafactor, 0.0001 for lion, 0.0025 for schedule-free, 1e-6 for mezo, else 0.001",
            coefficient([](auto& one, float rate) { one.learning_rate = rate; }))
      .letter('r');
  rows.real("weight-decay", "DECAY",
            "Weight decay; adamw and the optimizers after it take it off the parameters themselves",
            coefficient([](auto& one, float decay) { one.weight_decay = decay; }))
      .by_default("0");
  rows.choice<DecayedParameters>(
          "decay",
          {{"auto", DecayedParameters::automatic},
           {"all", DecayedParameters::all},
           {"matrices", DecayedParameters::matrices}},
          "Which parameters the weight decay acts on: all, matrices (two or more dims), or auto: "
          "matrices in transformers, else all",
          [](PrepareTarget& to, DecayedParameters value) { to.options.decayed = value; })
      .by_default("auto")
      .needs({"weight-decay"});
  rows.text("decay-scale", "PATTERN=FACTOR",
            "Factor of the weight decay of the parameters that match, as 'head.*=0'",
            add_decay_scales)
      .repeats()
      .needs({"weight-decay"});
  rows.real("beta1", "DECAY", "Decay of the first moment; 0.9 if absent",
            coefficient([](auto& one, float beta) {
              if constexpr (requires { one.beta1; }) one.beta1 = beta;
            }))
      .from(0)
      .below(1)
      .with("optimizer",
            {"adam", "adamw", "lion", "muon", "schedule-free", "adamw-8bit", "galore", "apollo"});
  rows.real("beta2", "DECAY",
            "Decay of the second moment, of lion the momentum; 0.999 if absent, for lion 0.99",
            coefficient([](auto& one, float beta) {
              if constexpr (requires { one.beta2; }) one.beta2 = beta;
            }))
      .from(0)
      .below(1)
      .with("optimizer",
            {"adam", "adamw", "lion", "muon", "schedule-free", "adamw-8bit", "galore", "apollo"});
  rows.real("epsilon", "EPSILON", "Added to denominators; 1e-8 if absent",
            coefficient([](auto& one, float epsilon) {
              if constexpr (requires { one.epsilon; }) one.epsilon = epsilon;
            }))
      .above(0)
      .with("optimizer", {"adagrad", "adam", "adamw", "muon", "schedule-free", "adamw-8bit"});
  add_projections(rows);
}

}  // namespace ondine::options
