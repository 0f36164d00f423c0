#include "kernels/optimizer/optimizer_primitive.h"

#include "tests/kernels/common/row_test.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {
using Index = std::int64_t;
}

TEMPLATE_TEST_CASE("optimizer rows follow the formulas of the training operators", "", float,
                   double) {
  using T = TestType;
  for (const Index n : {0, 1, 37, 40000}) {
    Numbers numbers(21);
    const auto x = numbers.row<T>(n), g = numbers.row<T>(n), v = numbers.row<T>(n);
    auto h = numbers.row<T>(n);
    for (auto& value : h) value = std::abs(value);
    const double rate = 0.125, alpha = 0.875, beta = 0.75, norm = 0.0625, post = 0.25, eps = 0.5;
    // Appends x', v', h' of one element.
    const auto expect = [&](auto&& formula) {
      std::vector<double> all;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double old = static_cast<double>(x[i]);
        formula(all, old, static_cast<double>(g[i]) + norm * old, static_cast<double>(v[i]),
                static_cast<double>(h[i]));
      }
      return all;
    };
    const auto interleave = [&](std::initializer_list<std::vector<T>> rows) {
      std::vector<T> all;
      for (std::size_t i = 0; i < x.size(); ++i) {
        for (const auto& row : rows) all.push_back(row[i]);
      }
      return all;
    };
    using Out = std::vector<double>;
    check<T>(
        expect([&](Out& out, double p, double s, double, double) { out.push_back(p - rate * s); }),
        tolerance<T>, [&](ThreadPool& pool, const SimdTables& kernels) {
          auto p = x;
          sgd(pool, Sgd<T>{T(rate), T(norm)}, n, p.data(), g.data(), p.data(), kernels);
          return p;
        });
    for (const bool nesterov : {false, true}) {
      check<T>(expect([&](Out& out, double p, double s, double speed, double) {
                 const double next = alpha * speed + beta * s;
                 out.push_back(p - rate * (nesterov ? s + alpha * next : next));
                 out.push_back(next);
               }),
               tolerance<T>, [&](ThreadPool& pool, const SimdTables& kernels) {
                 auto p = x, speed = v;
                 momentum(pool, Momentum<T>{T(rate), T(alpha), T(beta), T(norm), nesterov}, n,
                          p.data(), g.data(), speed.data(), p.data(), speed.data(), kernels);
                 return interleave({p, speed});
               });
    }
    check<T>(expect([&](Out& out, double p, double s, double, double squares) {
               const double next = squares + s * s;
               out.push_back(p - rate * s / (std::sqrt(next) + eps));
               out.push_back(next);
             }),
             tolerance<T>, [&](ThreadPool& pool, const SimdTables& kernels) {
               auto p = x, squares = h;
               adagrad(pool, Adagrad<T>{T(rate), T(norm), T(eps)}, n, p.data(), g.data(),
                       squares.data(), p.data(), squares.data(), kernels);
               return interleave({p, squares});
             });
    check<T>(expect([&](Out& out, double p, double s, double speed, double squares) {
               const double first = alpha * speed + (1 - alpha) * s;
               const double second = beta * squares + (1 - beta) * s * s;
               out.push_back((1 - post) * (p - rate * first / (std::sqrt(second) + eps)));
               out.push_back(first);
               out.push_back(second);
             }),
             tolerance<T>, [&](ThreadPool& pool, const SimdTables& kernels) {
               auto p = x, first = v, second = h;
               adam(pool, Adam<T>{T(rate), T(alpha), T(beta), T(norm), T(post), T(eps)}, n,
                    p.data(), g.data(), first.data(), second.data(), p.data(), first.data(),
                    second.data(), kernels);
               return interleave({p, first, second});
             });
  }
}

TEMPLATE_TEST_CASE("a thin SGD update adds one term after the other, in place or not", "", float,
                   double) {
  using T = TestType;
  for (const Index k : {1, 2, 3, 4}) {
    for (const auto& [m, n] : {std::pair<Index, Index>{0, 5}, {1, 1}, {3, 17}, {90, 1000}}) {
      for (const bool transposed : {false, true}) {
        Numbers numbers(static_cast<std::uint64_t>(m * 10 + k));
        const auto w = numbers.row<T>(m * n);
        const auto a = numbers.row<T>(m * k);
        const auto b = numbers.row<T>(k * n);
        const ThinSgdUpdate<T> options{T(0.25), m, n, k, transposed ? 1 : k, transposed ? m : 1};
        std::vector<double> expected = to_double(w);
        for (Index i = 0; i < m; ++i) {
          for (Index j = 0; j < n * k; ++j) {
            const auto at = static_cast<std::size_t>(i * options.a_row + j / n * options.a_col);
            expected[static_cast<std::size_t>(i * n + j % n)] -=
                0.25 * double{a[at]} * double{b[static_cast<std::size_t>(j)]};
          }
        }
        check<T>(expected, tolerance<T>, [&](ThreadPool& pool, const SimdTables& kernels) {
          auto here = w;
          auto there = std::vector<T>(w.size());
          thin_sgd_update(pool, options, here.data(), a.data(), b.data(), here.data(), kernels);
          thin_sgd_update(pool, options, w.data(), a.data(), b.data(), there.data(), kernels);
          CHECK(same_bits(here, there));
          return here;
        });
      }
    }
  }
}
