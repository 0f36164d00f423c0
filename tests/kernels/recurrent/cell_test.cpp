#include "kernels/recurrent/lstm_cell.h"

#include <algorithm>
#include <array>
#include <limits>

#include "tests/kernels/common/math_test.h"

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
      const auto gradient = [&](const TestType* by_h, const TestType* more) {
        dc = later;
        cell_kernels<TestType>(*kernels).lstm_gradient({.n = n,
                                                        .z = z.data(),
                                                        .old = rows.old.data(),
                                                        .c = c.data(),
                                                        .dh = by_h,
                                                        .dy = more,
                                                        .dc = dc.data(),
                                                        .dz = got.data()});
        got.resize(static_cast<std::size_t>(4 * n));
        got.insert(got.end(), dc.begin(), dc.end());
        CHECK(worst_error(got, want) < (sizeof(TestType) == 4 ? 2e-6 : 1e-9));
      };
      gradient(dh.data(), nullptr);
      // A derivative that is given in two parts gives the same.
      std::vector<TestType> rest(dh.size());
      for (std::size_t i = 0; i < dh.size(); ++i) rest[i] = dh[i] - TestType{0.25};
      const std::vector<TestType> quarter(dh.size(), TestType{0.25});
      gradient(rest.data(), quarter.data());
    }
  }
}

namespace {

// One step of `samples` samples by its definition, in double.
template <class T>
struct StepCase {
  StepCase(Index samples, Index input, Index hidden, bool first)
      : m(samples), k(input), n(hidden), numbers(static_cast<std::uint64_t>(m * k + n)) {
    w = numbers.row<T>(4 * n * k);
    r = numbers.row<T>(4 * n * n);
    bias = numbers.row<T>(4 * n);
    x = numbers.row<T>(m * (k + 3));
    h = numbers.row<T>(m * (n + 1));
    c = numbers.row<T>(m * n);
    with_h = !first;
  }
  static double at(const std::vector<T>& v, Index i) {
    return static_cast<double>(v[static_cast<std::size_t>(i)]);
  }
  double input(Index gate, Index i, Index j) const {
    const Index row = gate * n + j;
    double sum = at(bias, row);
    for (Index p = 0; p < k; ++p) sum += at(w, row * k + p) * at(x, i * (k + 3) + p);
    for (Index p = 0; with_h && p < n; ++p) sum += at(r, row * n + p) * at(h, i * (n + 1) + p);
    return sum;
  }
  Cell expected(Index i, Index j) const {
    return cell(input(0, i, j), input(1, i, j), input(2, i, j), input(3, i, j), at(c, i * n + j));
  }
  Index m, k, n;
  Numbers numbers;
  std::vector<T> w, r, bias, x, h, c;
  bool with_h;
};

template <class T>
struct StepResult {
  std::vector<T> z, h, c;
};

// The samples from `first` on, with packed weights `packed`.
template <class T>
void run_step(const StepCase<T>& s, const std::vector<T>& packed, Index first, Index samples,
              StepResult<T>& to, const SimdTables& kernels) {
  const Index z_stride = 4 * s.n + 2;
  const auto from = [](auto& v, Index i) { return v.data() + i; };
  cell_kernels<T>(kernels).lstm_step({.samples = samples,
                                      .input = s.k,
                                      .hidden = s.n,
                                      .packed = packed.data(),
                                      .x = from(s.x, first * (s.k + 3)),
                                      .x_stride = s.k + 3,
                                      .h = s.with_h ? from(s.h, first * (s.n + 1)) : nullptr,
                                      .h_stride = s.n + 1,
                                      .c = from(s.c, first * s.n),
                                      .c_stride = s.n,
                                      .z = from(to.z, first * z_stride),
                                      .z_stride = z_stride,
                                      .h_new = from(to.h, first * s.n),
                                      .h_new_stride = s.n,
                                      .c_new = from(to.c, first * s.n),
                                      .c_new_stride = s.n});
}

}  // namespace

TEMPLATE_TEST_CASE("a step of an LSTM is its products and its cells", "", float, double) {
  for (const auto* kernels : all_kernels()) {
    for (const auto [m, k, n, first] : {std::array<Index, 4>{1, 1, 1, 0},
                                        {8, 40, 128, 0},
                                        {16, 5, 16, 1},
                                        {5, 3, 20, 0},
                                        {7, 33, 7, 0},
                                        {11, 2, 33, 0}}) {
      INFO(isa_name(*kernels) << " " << m << " samples, " << k << " inputs, " << n << " cells");
      const StepCase<TestType> s(m, k, n, first != 0);
      const auto& cells = cell_kernels<TestType>(*kernels);
      std::vector<TestType> packed(static_cast<std::size_t>(cells.packed_lstm_elements(k, n)) + 1,
                                   77);
      cells.pack_lstm(k, n, s.w.data(), s.r.data(), s.bias.data(), packed.data());
      CHECK(packed.back() == 77);
      const auto blank = [](Index size) {
        return std::vector<TestType>(static_cast<std::size_t>(size), 5);
      };
      StepResult<TestType> whole{blank(m * (4 * n + 2)), blank(m * n), blank(m * n)};
      StepResult<TestType> pieces = whole;
      run_step(s, packed, 0, m, whole, *kernels);
      std::vector<double> gates(whole.z.size(), 5), shown, inside;
      for (Index i = 0; i < m; ++i) {
        for (Index j = 0; j < n; ++j) {
          const Cell want = s.expected(i, j);
          const double results[] = {want.in, want.out, want.forget, want.fresh};
          for (Index g = 0; g < 4; ++g) {
            gates[static_cast<std::size_t>(i * (4 * n + 2) + g * n + j)] = results[g];
          }
          inside.push_back(want.c);
          shown.push_back(want.h);
        }
      }
      CHECK(worst_error(whole.z, gates) < tolerance<TestType>);
      CHECK(worst_error(whole.c, inside) < tolerance<TestType>);
      CHECK(worst_error(whole.h, shown) < tolerance<TestType>);
      for (Index i = 0; i < m; i += 3) {
        run_step(s, packed, i, std::min<Index>(3, m - i), pieces, *kernels);
      }
      CHECK(same_bits(whole.z, pieces.z));
      CHECK(same_bits(whole.h, pieces.h));
      CHECK(same_bits(whole.c, pieces.c));
    }
  }
}

TEST_CASE("cells are right for inputs of any size") {
  for (const auto* kernels : all_kernels()) {
    INFO(isa_name(*kernels));
    const float infinity = std::numeric_limits<float>::infinity();
    const std::vector<float> inputs{0,      1e-30f, -1e-30f, 1e-4f,    -1e-4f,    0.3f,
                                    -0.3f,  8,      -8,      20,       -20,       86.9f,
                                    -86.9f, 88,     -88,     1e4f,     3e38f,     -3e38f,
                                    -1e4f,  17.4f,  -17.4f,  infinity, -infinity, 2};
    const auto n = static_cast<Index>(inputs.size());
    std::vector<float> z;
    for (int k = 0; k < 4; ++k) z.insert(z.end(), inputs.begin(), inputs.end());
    std::vector<float> c(inputs.size(), 0), h(inputs.size());
    cell_kernels<float>(*kernels).lstm(z.data(), c.data(), h.data(), n);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      INFO(inputs[i]);
      CHECK(std::abs(z[i] - sigmoid(inputs[i])) < 2e-7);
      CHECK(std::abs(z[i + 3 * inputs.size()] - std::tanh(double{inputs[i]})) <
            2e-7 * std::abs(std::tanh(double{inputs[i]})) + 1e-37);
      CHECK(std::abs(z[i + 3 * inputs.size()]) <= 1);
    }
    std::vector<float> nothing(4, std::numeric_limits<float>::quiet_NaN());
    cell_kernels<float>(*kernels).lstm(nothing.data(), c.data(), h.data(), 1);
    for (const float value : nothing) CHECK(std::isnan(value));
    CHECK(std::isnan(c[0]));
  }
}
