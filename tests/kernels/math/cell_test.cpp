#include "kernels/math/cell.h"

#include "math_test.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {

using Index = std::int64_t;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// One hidden value of a cell.
struct Cell {
  double in, out, forget, fresh, c, h;
};

Cell cell(double i, double o, double f, double g, double old) {
  Cell r{sigmoid(i), sigmoid(o), sigmoid(f), std::tanh(g), 0, 0};
  r.c = r.forget * old + r.in * r.fresh;
  r.h = r.out * std::tanh(r.c);
  return r;
}

template <class T>
struct Rows {
  explicit Rows(Index n) : numbers(static_cast<std::uint64_t>(n) + 1) {
    z = numbers.row<T>(4 * n);
    old = numbers.row<T>(n);
    for (auto& value : z) value *= 3;
  }
  double gate(Index n, Index k, Index i) const {
    const auto at = static_cast<std::size_t>(k * n + i);
    return static_cast<double>(z[at]);
  }
  Numbers numbers;
  std::vector<T> z, old;
};

}  // namespace

TEMPLATE_TEST_CASE("rows of LSTM cells follow their equations", "", float, double) {
  for (const auto* kernels : all_kernels()) {
    for (const Index n : {1, 3, 15, 16, 33, 128}) {
      INFO(isa_name(*kernels) << " n " << n);
      const Rows<TestType> rows(n);
      auto z = rows.z;
      auto c = rows.old;
      std::vector<TestType> h(c.size(), 7);
      cell_kernels<TestType>(*kernels).lstm(z.data(), c.data(), h.data(), n);
      std::vector<double> cells, shown;
      std::vector<double> gates(z.size());
      for (Index i = 0; i < n; ++i) {
        const Cell want =
            cell(rows.gate(n, 0, i), rows.gate(n, 1, i), rows.gate(n, 2, i), rows.gate(n, 3, i),
                 static_cast<double>(rows.old[static_cast<std::size_t>(i)]));
        const double results[] = {want.in, want.out, want.forget, want.fresh};
        for (Index k = 0; k < 4; ++k) gates[static_cast<std::size_t>(k * n + i)] = results[k];
        cells.push_back(want.c);
        shown.push_back(want.h);
      }
      CHECK(worst_error(z, gates) < tolerance<TestType>);
      CHECK(worst_error(c, cells) < tolerance<TestType>);
      CHECK(worst_error(h, shown) < tolerance<TestType>);
    }
  }
}

TEMPLATE_TEST_CASE("the derivative of rows of LSTM cells is that of their equations", "", float,
                   double) {
  for (const auto* kernels : all_kernels()) {
    for (const Index n : {1, 3, 15, 16, 33, 128}) {
      INFO(isa_name(*kernels) << " n " << n);
      Rows<TestType> rows(n);
      const auto dh = rows.numbers.template row<TestType>(n);
      const auto later = rows.numbers.template row<TestType>(n);
      std::vector<TestType> c(dh.size());
      // d(dh h + later c) by the inputs and the old cell, by central differences in double.
      const auto value = [&](Index i, Index moved, double step) {
        const auto at = static_cast<std::size_t>(i);
        double x[5] = {rows.gate(n, 0, i), rows.gate(n, 1, i), rows.gate(n, 2, i),
                       rows.gate(n, 3, i), static_cast<double>(rows.old[at])};
        x[moved] += step;
        const Cell r = cell(x[0], x[1], x[2], x[3], x[4]);
        return static_cast<double>(dh[at]) * r.h + static_cast<double>(later[at]) * r.c;
      };
      std::vector<double> want;
      for (Index moved = 0; moved < 5; ++moved) {
        for (Index i = 0; i < n; ++i) {
          want.push_back((value(i, moved, 1e-5) - value(i, moved, -1e-5)) / 2e-5);
        }
      }
      for (Index i = 0; i < n; ++i) {
        c[static_cast<std::size_t>(i)] = static_cast<TestType>(
            cell(rows.gate(n, 0, i), rows.gate(n, 1, i), rows.gate(n, 2, i), rows.gate(n, 3, i),
                 static_cast<double>(rows.old[static_cast<std::size_t>(i)]))
                .c);
      }
      auto z = rows.z;
      auto now = rows.old;
      auto h = rows.old;
      cell_kernels<TestType>(*kernels).lstm(z.data(), now.data(), h.data(), n);
      auto got = std::vector<TestType>(static_cast<std::size_t>(4 * n));
      auto dc = later;
      cell_kernels<TestType>(*kernels).lstm_gradient(z.data(), rows.old.data(), c.data(), dh.data(),
                                                     dc.data(), got.data(), n, 0);
      got.insert(got.end(), dc.begin(), dc.end());
      CHECK(worst_error(got, want) < (sizeof(TestType) == 4 ? 2e-6 : 1e-9));
    }
  }
}
