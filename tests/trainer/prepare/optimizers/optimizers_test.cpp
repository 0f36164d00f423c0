// Optimizers that prepare writes with ordinary operators, against plain loops in double.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/trainer/prepare/optimizers/reference.h"

using namespace ondine;
using namespace ondine::test::optimizers;

namespace {

// A wide, a tall and a last matrix.
const Network network{{4, 7, 5, 3}};
const Network convolution{{4, 5, 6, 3}, 3, true};

// As the model holds it.
double rounded(float value) { return static_cast<double>(value); }

double root_mean_square(const Numbers& values) {
  double sum = 0;
  for (const double one : values) sum += one * one;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

Rule lion(const Lion& settings) {
  std::vector<Numbers> momenta;
  return [=](Variables& variables, double, const Network& net) mutable {
    const auto gradients = net.gradients(variables);
    momenta.resize(variables.size());
    for (std::size_t v = 0; v < variables.size(); ++v) {
      Numbers& m = momenta[v];
      m.resize(gradients[v].size());
      for (std::size_t i = 0; i < m.size(); ++i) {
        const double g = gradients[v][i];
        const double mixed = rounded(settings.beta1) * m[i] + (1 - rounded(settings.beta1)) * g;
        const double sign = mixed > 0 ? 1 : mixed < 0 ? -1 : 0;
        double& x = variables[v].w[i];
        x -= rounded(settings.learning_rate) * (sign + rounded(settings.weight_decay) * x);
        m[i] = rounded(settings.beta2) * m[i] + (1 - rounded(settings.beta2)) * g;
      }
    }
  };
}

struct Factors {
  Numbers rows;
  Numbers columns;
  Numbers all;
};

// The step that Adafactor's second moments make of a gradient.
Numbers factored_update(const Variable& variable, const Numbers& g, double share,
                        Factors& factors) {
  Numbers u = g;
  if (variable.is_vector) {
    factors.all.resize(g.size());
    for (std::size_t i = 0; i < g.size(); ++i) {
      factors.all[i] += share * (g[i] * g[i] + 1e-30 - factors.all[i]);
      u[i] /= std::sqrt(factors.all[i]);
    }
    return u;
  }
  const std::size_t rows = variable.rows;
  const std::size_t columns = variable.columns;
  Numbers by_row(rows, 0);
  Numbers by_column(columns, 0);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      const double square = g[i * columns + j] * g[i * columns + j] + 1e-30;
      by_row[i] += square / static_cast<double>(columns);
      by_column[j] += square / static_cast<double>(rows);
    }
  }
  factors.rows.resize(rows);
  factors.columns.resize(columns);
  double mean = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    factors.rows[i] += share * (by_row[i] - factors.rows[i]);
    mean += factors.rows[i] / static_cast<double>(rows);
  }
  for (std::size_t j = 0; j < columns; ++j) {
    factors.columns[j] += share * (by_column[j] - factors.columns[j]);
  }
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      u[i * columns + j] /= std::sqrt(factors.rows[i] * factors.columns[j] / mean);
    }
  }
  return u;
}

Rule adafactor(const Adafactor& settings) {
  std::vector<Factors> factors;
  return [=](Variables& variables, double t, const Network& net) mutable {
    const auto gradients = net.gradients(variables);
    factors.resize(variables.size());
    const double rate = rounded(settings.learning_rate);
    for (std::size_t v = 0; v < variables.size(); ++v) {
      Numbers& w = variables[v].w;
      const Numbers u = factored_update(variables[v], gradients[v], std::pow(t, -0.8), factors[v]);
      const double size = std::max(1e-3, root_mean_square(w));
      const double alpha = std::min(rate, 1 / std::sqrt(t)) * size;
      const double bound = std::max(1.0, root_mean_square(u));
      for (std::size_t i = 0; i < w.size(); ++i) {
        w[i] -= alpha * u[i] / bound + rate * rounded(settings.weight_decay) * w[i];
      }
    }
  };
}

Numbers product(const Numbers& a, const Numbers& b, std::size_t n, std::size_t k, std::size_t m) {
  Numbers c(n * m, 0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t l = 0; l < k; ++l) {
      for (std::size_t j = 0; j < m; ++j) c[i * m + j] += a[i * k + l] * b[l * m + j];
    }
  }
  return c;
}

// Newton and Schulz, five times; always from the left.
Numbers orthogonal(const Numbers& d, std::size_t rows, std::size_t columns) {
  Numbers o = d;
  double norm = 0;
  for (const double one : d) norm += one * one;
  norm = std::max(std::sqrt(norm), 1e-7);
  for (double& one : o) one /= norm;
  for (int step = 0; step < 5; ++step) {
    Numbers turned(o.size());
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) turned[j * rows + i] = o[i * columns + j];
    }
    const Numbers a = product(o, turned, rows, columns, rows);
    const Numbers aa = product(a, a, rows, rows, rows);
    Numbers b(a.size());
    for (std::size_t i = 0; i < b.size(); ++i) {
      b[i] = rounded(-4.775F) * a[i] + rounded(2.0315F) * aa[i];
    }
    const Numbers bo = product(b, o, rows, rows, columns);
    for (std::size_t i = 0; i < o.size(); ++i) o[i] = rounded(3.4445F) * o[i] + bo[i];
  }
  return o;
}

Rule muon(const Muon& settings) {
  std::vector<Numbers> momenta;
  std::vector<AdamState> others;
  return [=](Variables& variables, double t, const Network& net) mutable {
    const auto gradients = net.gradients(variables);
    momenta.resize(variables.size());
    others.resize(variables.size());
    const double rate = rounded(settings.learning_rate);
    const double decay = rounded(settings.weight_decay);
    const double beta = rounded(settings.momentum);
    for (std::size_t v = 0; v < variables.size(); ++v) {
      Variable& x = variables[v];
      const Numbers& g = gradients[v];
      if (x.is_vector || v + 2 >= variables.size()) {
        adamw_step(x, g, t, others[v], rate, decay, rounded(settings.beta1),
                   rounded(settings.beta2), rounded(settings.epsilon));
        continue;
      }
      Numbers& m = momenta[v];
      m.resize(g.size());
      Numbers d(g.size());
      for (std::size_t i = 0; i < g.size(); ++i) {
        m[i] = beta * m[i] + (1 - beta) * g[i];
        d[i] = beta * m[i] + (1 - beta) * g[i];
      }
      const Numbers o = orthogonal(d, x.rows, x.columns);
      const double scale = 0.2 * std::sqrt(static_cast<double>(std::max(x.rows, x.columns)));
      for (std::size_t i = 0; i < g.size(); ++i) {
        x.w[i] -= rate * (scale * o[i] + decay * x.w[i]);
      }
    }
  };
}

// As the paper writes it, with z and x apart; the variables are x.
Rule schedule_free(const ScheduleFree& settings, const std::function<double(double)>& rate_of) {
  Variables z;
  std::vector<Numbers> squares;
  double sum = 0;
  return [=](Variables& variables, double t, const Network& net) mutable {
    if (z.empty()) z = variables;
    squares.resize(variables.size());
    const double beta1 = rounded(settings.beta1);
    const double beta2 = rounded(settings.beta2);
    Variables y = variables;
    for (std::size_t v = 0; v < y.size(); ++v) {
      for (std::size_t i = 0; i < y[v].w.size(); ++i) {
        y[v].w[i] = (1 - beta1) * z[v].w[i] + beta1 * variables[v].w[i];
      }
    }
    const auto gradients = net.gradients(y);
    const double rate = rate_of(t) * std::sqrt(1 - std::pow(beta2, t));
    sum += rate * rate;
    const double c = rate * rate / sum;
    for (std::size_t v = 0; v < y.size(); ++v) {
      squares[v].resize(y[v].w.size());
      for (std::size_t i = 0; i < y[v].w.size(); ++i) {
        const double g = gradients[v][i];
        squares[v][i] = beta2 * squares[v][i] + (1 - beta2) * g * g;
        z[v].w[i] -= rate * (g / (std::sqrt(squares[v][i]) + rounded(settings.epsilon)) +
                             rounded(settings.weight_decay) * y[v].w[i]);
        variables[v].w[i] = (1 - c) * variables[v].w[i] + c * z[v].w[i];
      }
    }
  };
}

}  // namespace

TEST_CASE("Lion takes the steps of its formula, with and without decay") {
  for (const float decay : {0.0F, 0.5F}) {
    const Lion settings{.learning_rate = 0.01F, .weight_decay = decay};
    check_rule(network, {.optimizer = settings}, lion(settings));
  }
}

TEST_CASE("Adafactor takes the steps of its paper for matrices, vectors and convolutions") {
  for (const Network& net : {network, convolution}) {
    for (const float decay : {0.0F, 0.5F}) {
      const Adafactor settings{.learning_rate = 0.05F, .weight_decay = decay};
      check_rule(net, {.optimizer = settings}, adafactor(settings));
    }
  }
}

TEST_CASE("a large rate of Adafactor is bounded by the root of the steps") {
  const Adafactor settings{.learning_rate = 0.4F};
  check_rule(network, {.optimizer = settings}, adafactor(settings));
}

TEST_CASE("Muon steps hidden matrices along orthogonal ones, and others by AdamW") {
  for (const Network& net : {network, convolution}) {
    for (const float decay : {0.0F, 0.5F}) {
      const Muon settings{.learning_rate = 0.01F, .momentum = 0.75F, .weight_decay = decay};
      check_rule(net, {.optimizer = settings}, muon(settings));
    }
  }
}

TEST_CASE("schedule-free AdamW trains the average that its paper defines") {
  for (const Network& net : {network, convolution}) {
    for (const float decay : {0.0F, 0.5F}) {
      const ScheduleFree settings{.learning_rate = 0.01F, .weight_decay = decay};
      for (const bool trains : {true, false}) {
        check_rule(net, {.optimizer = settings, .training_mode = trains},
                   schedule_free(settings, [](double) { return rounded(0.01F); }));
      }
    }
  }
}

TEST_CASE("the weights of schedule-free averages follow a warm-up") {
  const ScheduleFree settings{.learning_rate = 0.01F};
  ModelSchedule schedule{.schedule = ConstantSchedule{}};
  schedule.warmup_steps = 5;
  check_rule(
      network, {.optimizer = settings, .schedule = schedule},
      schedule_free(settings, [](double t) { return rounded(0.01F) * std::min(1.0, t / 6); }));
}
