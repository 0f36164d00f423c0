// GaLore and APOLLO against plain loops in double.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <memory>
#include <numbers>

#include <ondine/error.h>

#include "tests/trainer/prepare/optimizers/reference.h"

using namespace ondine;
using namespace ondine::test::optimizers;
using Catch::Contains;

namespace {

// A wide and two tall matrices; gradients of rank 3.
const Network network{{6, 9, 4, 3}};
constexpr std::size_t rank = 2;

double rounded(float value) { return static_cast<double>(value); }

// A matrix in plain storage.
struct Matrix {
  std::size_t rows = 0;
  std::size_t columns = 0;
  Numbers of = Numbers(rows * columns);

  double& at(std::size_t i, std::size_t j) { return of[i * columns + j]; }
  double at(std::size_t i, std::size_t j) const { return of[i * columns + j]; }
};

Matrix turned(const Matrix& a) {
  Matrix t{a.columns, a.rows};
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t j = 0; j < a.columns; ++j) t.at(j, i) = a.at(i, j);
  }
  return t;
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c{a.rows, b.columns};
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t j = 0; j < b.columns; ++j) {
      for (std::size_t k = 0; k < a.columns; ++k) c.at(i, j) += a.at(i, k) * b.at(k, j);
    }
  }
  return c;
}

// Gram and Schmidt on columns.
void orthonormalize(Matrix& y) {
  for (std::size_t j = 0; j < y.columns; ++j) {
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t k = 0; k < j; ++k) {
        double part = 0;
        for (std::size_t i = 0; i < y.rows; ++i) part += y.at(i, k) * y.at(i, j);
        for (std::size_t i = 0; i < y.rows; ++i) y.at(i, j) -= part * y.at(i, k);
      }
    }
    double square = 0;
    for (std::size_t i = 0; i < y.rows; ++i) square += y.at(i, j) * y.at(i, j);
    for (std::size_t i = 0; i < y.rows; ++i) y.at(i, j) /= std::sqrt(square);
  }
}

Matrix cosines(std::size_t size) {
  Matrix p{size, rank};
  const auto n = static_cast<double>(size);
  for (std::size_t i = 0; i < size; ++i) {
    p.at(i, 0) = std::sqrt(1 / n);
    p.at(i, 1) = std::sqrt(2 / n) * std::cos(std::numbers::pi * (static_cast<double>(i) + 0.5) / n);
  }
  return p;
}

// Adam's direction of r.
Numbers direction(const Numbers& r, double t, AdamState& state, double beta1, double beta2,
                  double epsilon) {
  state.mean.resize(r.size());
  state.squares.resize(r.size());
  Numbers d(r.size());
  for (std::size_t i = 0; i < r.size(); ++i) {
    state.mean[i] = beta1 * state.mean[i] + (1 - beta1) * r[i];
    state.squares[i] = beta2 * state.squares[i] + (1 - beta2) * r[i] * r[i];
    d[i] = state.mean[i] / (1 - std::pow(beta1, t)) /
           (std::sqrt(state.squares[i] / (1 - std::pow(beta2, t))) + epsilon);
  }
  return d;
}

// A gradient that is not higher than wide.
Matrix wide(const Variable& variable, const Numbers& g) {
  const Matrix matrix{variable.rows, variable.columns, g};
  return variable.rows > variable.columns ? turned(matrix) : matrix;
}

struct Own {
  Matrix basis = {};
  AdamState moments = {};
  double norm = 0;
};

template <class Settings, class Direct>
Rule projected(const Settings& settings, Direct direct) {
  std::vector<Own> states;
  return [=](Variables& variables, double t, const Network& net) mutable {
    const auto gradients = net.gradients(variables);
    states.resize(variables.size());
    const double rate = rounded(settings.learning_rate);
    const double decay = rounded(settings.weight_decay);
    for (std::size_t v = 0; v < variables.size(); ++v) {
      Variable& x = variables[v];
      if (x.is_vector) {
        adamw_step(x, gradients[v], t, states[v].moments, rate, decay, rounded(settings.beta1),
                   rounded(settings.beta2), 1e-8);
        continue;
      }
      Matrix d = direct(settings, x, wide(x, gradients[v]), t, states[v]);
      if (x.rows > x.columns) d = turned(d);
      for (std::size_t i = 0; i < x.w.size(); ++i) {
        x.w[i] -= rate * (rounded(settings.scale) * d.of[i] + decay * x.w[i]);
      }
    }
  };
}

Matrix galore(const GaLore& settings, const Variable&, const Matrix& g, double t, Own& own) {
  if (own.basis.rows == 0) own.basis = cosines(g.rows);
  if (std::fmod(t - 1, static_cast<double>(settings.every)) == 0) {
    for (int i = 0; i < 3; ++i) {
      own.basis = product(g, product(turned(g), own.basis));
      orthonormalize(own.basis);
    }
  }
  Matrix r = product(turned(own.basis), g);
  r.of = direction(r.of, t, own.moments, rounded(settings.beta1), rounded(settings.beta2), 1e-8);
  return product(own.basis, r);
}

using Bases = std::map<std::string, Tensor>;

// With the bases that the model has drawn.
auto apollo(std::shared_ptr<Bases> bases) {
  return [bases](const Apollo& settings, const Variable& x, const Matrix& g, double t, Own& own) {
    const auto drawn = bases->at(x.name).values<double>();
    const Matrix p{g.rows, rank, {drawn.begin(), drawn.end()}};
    const Matrix r = product(turned(p), g);
    const Matrix inner{
        r.rows, r.columns,
        direction(r.of, t, own.moments, rounded(settings.beta1), rounded(settings.beta2), 1e-8)};
    Matrix d = g;
    double norm = 0;
    for (std::size_t j = 0; j < g.columns; ++j) {
      double wanted = 0;
      double found = 0;
      for (std::size_t k = 0; k < rank; ++k) {
        wanted += inner.at(k, j) * inner.at(k, j);
        found += r.at(k, j) * r.at(k, j);
      }
      for (std::size_t i = 0; i < g.rows; ++i) {
        d.at(i, j) *= std::sqrt(wanted) / (std::sqrt(found) + 1e-8);
        norm += d.at(i, j) * d.at(i, j);
      }
    }
    norm = std::sqrt(norm);
    const double kept = own.norm > 0 ? std::min(norm, 1.01 * own.norm) : norm;
    for (double& one : d.of) one *= kept / norm;
    own.norm = kept;
    return d;
  };
}

}  // namespace

TEST_CASE("GaLore takes AdamW's steps along leading singular vectors, which it finds anew") {
  for (const float decay : {0.0F, 0.5F}) {
    const GaLore settings{
        .learning_rate = 0.01F, .rank = rank, .every = 5, .scale = 0.5F, .weight_decay = decay};
    check_rule(network, {.optimizer = settings}, projected(settings, galore));
  }
}

TEST_CASE("the bases of GaLore are the leading singular vectors of the gradient") {
  Model model =
      prepare(network.model(),
              {.loss = Loss::mse, .optimizer = GaLore{.rank = rank}, .init = WeightInit::keep});
  const Variables variables = network.start();
  model.train_step(network.feeds());
  const Tensor basis = model.get_state("w0.basis");
  REQUIRE(basis.shape() == Shape{6, 2});
  // Independently: many power iterations with g g^T for the first, and the same of the rest.
  const Matrix g = wide(variables[0], network.gradients(variables)[0]);
  Matrix p = cosines(6);
  for (int i = 0; i < 500; ++i) {
    p = product(g, product(turned(g), p));
    orthonormalize(p);
  }
  double first = 0;
  for (std::size_t i = 0; i < 6; ++i) first += p.at(i, 0) * basis.values<double>()[2 * i];
  CHECK(std::abs(first) > 0.95);
}

TEST_CASE("APOLLO scales columns of gradients as AdamW would in a drawn space") {
  for (const float decay : {0.0F, 0.5F}) {
    const Apollo settings{
        .learning_rate = 0.01F, .rank = rank, .every = 5, .scale = 0.5F, .weight_decay = decay};
    const auto bases = std::make_shared<Bases>();
    const auto look = [&](const Model& model) {
      for (const char* name : {"w0", "w1", "w2"}) {
        bases->insert_or_assign(name, model.get_state(std::string(name) + ".basis"));
      }
    };
    check_rule(network, {.optimizer = settings}, projected(settings, apollo(bases)), look);
  }
}

TEST_CASE("APOLLO draws its space anew after so many steps, with variance 1 / rank") {
  Network net{{70, 65, 3}};
  Model model = prepare(
      net.model(),
      {.loss = Loss::mse, .optimizer = Apollo{.rank = 32, .every = 2}, .init = WeightInit::keep});
  std::vector<Tensor> drawn;
  for (int i = 0; i < 4; ++i) {
    model.train_step(net.feeds());
    drawn.push_back(model.get_state("w0.basis"));
  }
  CHECK(drawn[0].identical(drawn[1]));
  CHECK_FALSE(drawn[1].identical(drawn[2]));
  CHECK(drawn[2].identical(drawn[3]));
  double square = 0;
  for (const double one : drawn[0].values<double>()) square += one * one;
  CHECK(square / static_cast<double>(drawn[0].values<double>().size()) ==
        Approx(1.0 / 32).epsilon(0.15));
}

TEST_CASE("optimizers of low rank keep small moments, and say which parameters follow AdamW") {
  PrepareReport report;
  const Model model =
      prepare(network.model(), {.loss = Loss::mse, .optimizer = GaLore{.rank = 3}}, {}, &report);
  CHECK(report.rules ==
        "galore on 2 matrices with more than 3 rows and columns, adamw on 4 other parameters");
  CHECK(model.get_state("w0.mean").shape() == Shape{3, 9});
  CHECK(model.get_state("w0.basis").shape() == Shape{6, 3});
  CHECK(model.get_state("w1.squares").shape() == Shape{9, 3});
  CHECK(model.get_state("w2.mean").shape() == Shape{4, 3});
  CHECK_THROWS_WITH(prepare(network.model(), {.loss = Loss::mse, .optimizer = Apollo{}}),
                    Contains("apollo finds no matrix with more than 128 rows and columns"));
}
