// Softmax, normalisation and the optimizers against their formulas in double.
#include <algorithm>
#include <cmath>

#include "kernels/norm/norm_primitive.h"
#include "kernels/norm/softmax_primitive.h"
#include "kernels/optimizer/optimizer_primitive.h"
#include "tests/kernels/common/math_test.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {

using Index = std::int64_t;

template <class T>
std::vector<double> wide(const std::vector<T>& x) {
  return {x.begin(), x.end()};
}

// body(pool, kernels) returns all outputs as one vector: equal bits for 1, 2 and 4 threads.
template <class T, class Body>
void check(const std::vector<double>& expected, double limit, Body&& body) {
  for (const auto* kernels : all_kernels()) {
    ThreadPool one(1), two(2), four(4);
    const std::vector<T> y = body(one, *kernels);
    INFO(isa_name(*kernels));
    CHECK(worst_error(y, expected) < limit);
    CHECK(same_bits(body(two, *kernels), y));
    CHECK(same_bits(body(four, *kernels), y));
  }
}

}  // namespace

TEMPLATE_TEST_CASE("softmax rows and their gradients follow the definition", "", float, double) {
  using T = TestType;
  for (const Index length : {1, 3, 10, 16, 17, 100, 3000}) {
    for (const Index rows : {0, 1, 7, 300}) {
      Numbers numbers(static_cast<std::uint64_t>(length));
      auto x = numbers.row<T>(rows * length);
      for (auto& value : x) value = value * 20 + 300;
      const auto dy = numbers.row<T>(rows * length);
      const auto n = x.size();
      std::vector<double> soft(n), logs(n), soft_dx(n), logs_dx(n);
      for (std::size_t at = 0; at < n; at += static_cast<std::size_t>(length)) {
        const auto end = at + static_cast<std::size_t>(length);
        double total = 0, product = 0, sum = 0;
        for (auto i = at; i < end; ++i) total += std::exp(static_cast<double>(x[i]) - 300);
        for (auto i = at; i < end; ++i) {
          logs[i] = static_cast<double>(x[i]) - 300 - std::log(total);
          soft[i] = std::exp(logs[i]);
          product += soft[i] * static_cast<double>(dy[i]);
          sum += static_cast<double>(dy[i]);
        }
        for (auto i = at; i < end; ++i) {
          soft_dx[i] = soft[i] * (static_cast<double>(dy[i]) - product);
          logs_dx[i] = static_cast<double>(dy[i]) - soft[i] * sum;
        }
      }
      std::vector<T> y(n), dx(n);
      const double limit = sizeof(T) == 4 ? 2e-5 : 1e-13;
      check<T>(soft, limit, [&](ThreadPool& pool, const Kernels& kernels) {
        softmax(pool, y.data(), x.data(), rows, length, kernels);
        return y;
      });
      check<T>(soft_dx, limit, [&](ThreadPool& pool, const Kernels& kernels) {
        softmax_gradient(pool, dx.data(), dy.data(), y.data(), rows, length, kernels);
        return dx;
      });
      check<T>(logs, limit, [&](ThreadPool& pool, const Kernels& kernels) {
        log_softmax(pool, y.data(), x.data(), rows, length, kernels);
        return y;
      });
      check<T>(logs_dx, limit, [&](ThreadPool& pool, const Kernels& kernels) {
        log_softmax_gradient(pool, dx.data(), dy.data(), y.data(), rows, length, kernels);
        return dx;
      });
    }
  }
}

TEMPLATE_TEST_CASE("batch normalisation and its gradient follow the definition", "", float,
                   double) {
  using T = TestType;
  for (const ChannelShape s : {ChannelShape{1, 1, 1},
                               {2, 3, 1},
                               {64, 70, 1},
                               {4, 5, 9},
                               {3, 40, 49},
                               {2, 3, 5000},
                               {200, 3, 4}}) {
    Numbers numbers(static_cast<std::uint64_t>(s.spatial));
    auto x = numbers.row<T>(s.batch * s.channels * s.spatial);
    for (auto& value : x) value += 10;  // a mean that is large against the deviation
    const auto dy = numbers.row<T>(s.batch * s.channels * s.spatial);
    const auto scale = numbers.row<T>(s.channels), bias = numbers.row<T>(s.channels);
    const auto channels = static_cast<std::size_t>(s.channels);
    const double count = static_cast<double>(s.batch * s.spatial);
    const T epsilon = T(0.1);
    std::vector<double> mean(channels), variance(channels), dscale(channels), dbias(channels);
    std::vector<double> y(x.size()), dx(x.size()), dx_constant(x.size());
    for (std::size_t c = 0; c < channels; ++c) {
      const auto each = [&](auto&& body) {
        for (Index n = 0; n < s.batch; ++n) {
          for (Index i = 0; i < s.spatial; ++i) {
            body(
                static_cast<std::size_t>((n * s.channels + static_cast<Index>(c)) * s.spatial + i));
          }
        }
      };
      each([&](std::size_t i) { mean[c] += static_cast<double>(x[i]) / count; });
      each([&](std::size_t i) {
        variance[c] += std::pow(static_cast<double>(x[i]) - mean[c], 2) / count;
      });
      const double inverse = 1 / std::sqrt(variance[c] + static_cast<double>(epsilon));
      const auto hat = [&](std::size_t i) {
        return (static_cast<double>(x[i]) - mean[c]) * inverse;
      };
      each([&](std::size_t i) {
        y[i] = hat(i) * static_cast<double>(scale[c]) + static_cast<double>(bias[c]);
        dbias[c] += static_cast<double>(dy[i]);
        dscale[c] += static_cast<double>(dy[i]) * hat(i);
      });
      each([&](std::size_t i) {
        dx_constant[i] = static_cast<double>(scale[c]) * inverse * static_cast<double>(dy[i]);
        dx[i] = static_cast<double>(scale[c]) * inverse *
                (static_cast<double>(dy[i]) - dbias[c] / count - hat(i) * dscale[c] / count);
      });
    }
    std::vector<T> m(channels), v(channels), out(x.size()), ds(channels), db(channels);
    const double limit = sizeof(T) == 4 ? 1e-5 : 1e-13;
    check<T>(mean, limit, [&](ThreadPool& pool, const Kernels& kernels) {
      channel_statistics(pool, s, x.data(), m.data(), v.data(), kernels);
      return m;
    });
    check<T>(variance, limit, [&](ThreadPool& pool, const Kernels& kernels) {
      channel_statistics(pool, s, x.data(), m.data(), v.data(), kernels);
      return v;
    });
    check<T>(y, limit, [&](ThreadPool& pool, const Kernels& kernels) {
      batch_norm(pool, s, x.data(), m.data(), v.data(), scale.data(), bias.data(), epsilon, {},
                 out.data(), kernels);
      return out;
    });
    check<T>(y, limit, [&](ThreadPool& pool, const Kernels& kernels) {
      std::vector<T> mean_now(channels), variance_now(channels);
      batch_norm_training(pool, s, x.data(), scale.data(), bias.data(), epsilon, {},
                          mean_now.data(), variance_now.data(), out.data(), kernels);
      CHECK(worst_error(mean_now, mean) < limit);
      CHECK(worst_error(variance_now, variance) < limit);
      return out;
    });
    const auto gradient = [&](bool constant, ThreadPool& pool, const Kernels& kernels) {
      batch_norm_gradient(pool, s, dy.data(), x.data(), m.data(), v.data(), scale.data(), epsilon,
                          constant, {}, out.data(), ds.data(), db.data(), kernels);
    };
    // Bounds around the result, an addend, in place; derivatives within the bounds alone.
    const T low = T(-0.3), high = T(0.4);
    std::vector<double> bounded(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      bounded[i] = std::clamp(y[i] + static_cast<double>(dy[i]), static_cast<double>(low),
                              static_cast<double>(high));
    }
    check<T>(bounded, limit, [&](ThreadPool& pool, const Kernels& kernels) {
      out = x;
      batch_norm(pool, s, out.data(), m.data(), v.data(), scale.data(), bias.data(), epsilon,
                 {low, high, dy.data()}, out.data(), kernels);
      return out;
    });
    for (const bool constant : {false, true}) {
      std::vector<T> kept = dy, want(x.size()), want_ds(channels), want_db(channels);
      ThreadPool one(1);
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (y[i] < static_cast<double>(low) || y[i] > static_cast<double>(high)) kept[i] = 0;
      }
      batch_norm_gradient(one, s, kept.data(), x.data(), m.data(), v.data(), scale.data(), epsilon,
                          constant, {}, want.data(), want_ds.data(), want_db.data());
      const auto masked = [&](ThreadPool& pool, const Kernels& kernels) {
        out = dy;
        batch_norm_gradient(pool, s, out.data(), x.data(), m.data(), v.data(), scale.data(),
                            epsilon, constant, {bias.data(), low, high}, out.data(), ds.data(),
                            db.data(), kernels);
        return out;
      };
      check<T>(wide(want), limit, masked);
      check<T>(wide(want_ds), limit, [&](ThreadPool& pool, const Kernels& kernels) {
        masked(pool, kernels);
        return ds;
      });
      check<T>(wide(want_db), limit, [&](ThreadPool& pool, const Kernels& kernels) {
        masked(pool, kernels);
        return db;
      });
    }
    check<T>(dx, limit, [&](ThreadPool& pool, const Kernels& kernels) {
      gradient(false, pool, kernels);
      return out;
    });
    check<T>(dx_constant, limit, [&](ThreadPool& pool, const Kernels& kernels) {
      gradient(true, pool, kernels);
      return out;
    });
    check<T>(dscale, limit, [&](ThreadPool& pool, const Kernels& kernels) {
      gradient(true, pool, kernels);
      return ds;
    });
    check<T>(dbias, limit, [&](ThreadPool& pool, const Kernels& kernels) {
      gradient(false, pool, kernels);
      return db;
    });
  }
}

TEMPLATE_TEST_CASE("layer normalisation and its gradient follow the definition", "", float,
                   double) {
  using T = TestType;
  for (const Index length : {1, 5, 16, 100, 257}) {
    for (const Index rows : {0, 1, 33, 200}) {
      for (const bool affine : {false, true}) {
        Numbers numbers(static_cast<std::uint64_t>(length + rows));
        const auto x = numbers.row<T>(rows * length), dy = numbers.row<T>(rows * length);
        const auto scale = numbers.row<T>(length), bias = numbers.row<T>(length);
        const auto width = static_cast<std::size_t>(length);
        const T epsilon = T(0.01);
        std::vector<double> y(x.size()), dx(x.size()), dscale(width), dbias(width);
        for (std::size_t at = 0; at < x.size(); at += width) {
          double mean = 0, variance = 0, total = 0, product = 0;
          const auto n = static_cast<double>(length);
          for (std::size_t j = 0; j < width; ++j) mean += static_cast<double>(x[at + j]) / n;
          for (std::size_t j = 0; j < width; ++j) {
            variance += std::pow(static_cast<double>(x[at + j]) - mean, 2) / n;
          }
          const double inverse = 1 / std::sqrt(variance + static_cast<double>(epsilon));
          const auto hat = [&](std::size_t j) {
            return (static_cast<double>(x[at + j]) - mean) * inverse;
          };
          const auto g = [&](std::size_t j) {
            return static_cast<double>(dy[at + j]) * (affine ? static_cast<double>(scale[j]) : 1);
          };
          for (std::size_t j = 0; j < width; ++j) {
            y[at + j] = affine
                            ? hat(j) * static_cast<double>(scale[j]) + static_cast<double>(bias[j])
                            : hat(j);
            dscale[j] += static_cast<double>(dy[at + j]) * hat(j);
            dbias[j] += static_cast<double>(dy[at + j]);
            total += g(j) / n;
            product += g(j) * hat(j) / n;
          }
          for (std::size_t j = 0; j < width; ++j) {
            dx[at + j] = inverse * (g(j) - total - hat(j) * product);
          }
        }
        std::vector<T> out(x.size()), mean(static_cast<std::size_t>(rows)), inverse(mean.size());
        std::vector<T> ds(width), db(width);
        const double limit = sizeof(T) == 4 ? 1e-5 : 1e-13;
        check<T>(y, limit, [&](ThreadPool& pool, const Kernels& kernels) {
          layer_norm(pool, rows, length, x.data(), affine ? scale.data() : nullptr,
                     affine ? bias.data() : nullptr, epsilon, out.data(), mean.data(),
                     inverse.data(), kernels);
          return out;
        });
        const auto gradient = [&](ThreadPool& pool, const Kernels& kernels) {
          layer_norm_gradient(pool, rows, length, dy.data(), x.data(), mean.data(), inverse.data(),
                              affine ? scale.data() : nullptr, out.data(), ds.data(), db.data(),
                              kernels);
        };
        check<T>(dx, limit, [&](ThreadPool& pool, const Kernels& kernels) {
          gradient(pool, kernels);
          return out;
        });
        check<T>(dscale, limit, [&](ThreadPool& pool, const Kernels& kernels) {
          gradient(pool, kernels);
          return ds;
        });
        check<T>(dbias, limit, [&](ThreadPool& pool, const Kernels& kernels) {
          gradient(pool, kernels);
          return db;
        });
      }
    }
  }
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
        tolerance<T>, [&](ThreadPool& pool, const Kernels& kernels) {
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
               tolerance<T>, [&](ThreadPool& pool, const Kernels& kernels) {
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
             tolerance<T>, [&](ThreadPool& pool, const Kernels& kernels) {
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
             tolerance<T>, [&](ThreadPool& pool, const Kernels& kernels) {
               auto p = x, first = v, second = h;
               adam(pool, Adam<T>{T(rate), T(alpha), T(beta), T(norm), T(post), T(eps)}, n,
                    p.data(), g.data(), first.data(), second.data(), p.data(), first.data(),
                    second.data(), kernels);
               return interleave({p, first, second});
             });
  }
}

TEMPLATE_TEST_CASE("a thin descent adds one term after the other, in place or not", "", float,
                   double) {
  using T = TestType;
  for (const Index k : {1, 2, 3, 4}) {
    for (const auto& [m, n] : {std::pair<Index, Index>{0, 5}, {1, 1}, {3, 17}, {90, 1000}}) {
      for (const bool turned : {false, true}) {
        Numbers numbers(static_cast<std::uint64_t>(m * 10 + k));
        const auto w = numbers.row<T>(m * n);
        const auto a = numbers.row<T>(m * k);
        const auto b = numbers.row<T>(k * n);
        const ThinSgdUpdate<T> options{T(0.25), m, n, k, turned ? 1 : k, turned ? m : 1};
        std::vector<double> expected = wide(w);
        for (Index i = 0; i < m; ++i) {
          for (Index j = 0; j < n * k; ++j) {
            const auto at = static_cast<std::size_t>(i * options.a_row + j / n * options.a_col);
            expected[static_cast<std::size_t>(i * n + j % n)] -=
                0.25 * double{a[at]} * double{b[static_cast<std::size_t>(j)]};
          }
        }
        check<T>(expected, tolerance<T>, [&](ThreadPool& pool, const Kernels& kernels) {
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

TEMPLATE_TEST_CASE("the statistics of a channel without elements are NaN", "", float, double) {
  for (const auto* kernels : all_kernels()) {
    for (const ChannelShape& shape : {ChannelShape{0, 3, 1}, {0, 3, 5}, {4, 3, 0}}) {
      ThreadPool pool(2);
      std::vector<TestType> mean(3, 1), variance(3, 1);
      channel_statistics<TestType>(pool, shape, nullptr, mean.data(), variance.data(), *kernels);
      for (const TestType v : mean) CHECK(std::isnan(v));
      for (const TestType v : variance) CHECK(std::isnan(v));
    }
  }
}
