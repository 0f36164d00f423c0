// Speed of the numerics on one thread: best of many rounds, all instruction sets in turn, against
// the peak of multiply-adds measured in the same run. Numbers of different runs do not compare.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "bench/numbers.h"
#include "bench/run/peak.h"
#include "kernels/conv/primitives/conv_primitive.h"
#include "kernels/elementwise/vector.h"
#include "kernels/norm/batch_norm_primitive.h"
#include "kernels/norm/softmax_primitive.h"
#include "kernels/pool/pool_primitive.h"
#include "kernels/recurrent/lstm_cell.h"
#include "kernels/simd/tables.h"

namespace {

using namespace ondine;
using namespace ondine::math;
using bench::Memory;
using bench::numbers;
using Index = std::int64_t;
using Clock = std::chrono::steady_clock;

int rounds = 25;

template <class Body>
double seconds(int repeats, Body&& body) {
  const auto start = Clock::now();
  for (int i = 0; i < repeats; ++i) body();
  return std::chrono::duration<double>(Clock::now() - start).count() / repeats;
}

// Best time of each candidate; rounds alternate between them.
template <class Body>
std::vector<double> best_of(std::size_t candidates, Body&& body) {
  std::vector<double> best(candidates, 1e30);
  std::vector<int> repeats(candidates, 1);
  for (std::size_t c = 0; c < candidates; ++c) {
    const double once = seconds(1, [&] { body(c); });
    repeats[c] = std::max(1, static_cast<int>(1e-3 / std::max(once, 1e-7)));
  }
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t c = 0; c < candidates; ++c) {
      best[c] = std::min(best[c], seconds(repeats[c], [&] { body(c); }));
    }
  }
  return best;
}

std::vector<const SimdTables*> sets() {
  std::vector<const SimdTables*> all;
  const char* const only = std::getenv("ONDINE_ISA");
  for (const ProductMode mode : {ProductMode::float32, ProductMode::split, ProductMode::bf16}) {
    for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512, Isa::amx}) {
      const auto* k = simd_tables_for(isa, mode);
      if (k && (!only || std::strcmp(only, isa_name(*k)) == 0)) all.push_back(k);
    }
  }
  return all;
}

void print_peak() {
  std::printf("%-34s", "peak of multiply-adds");
  for (const auto* k : sets()) std::printf(" %9.1f", bench::peak_gflops(isa_name(*k)));
  std::printf("  GF/s\n");
}

// Prints the bandwidth of reading two arrays that fit no cache and writing a third.
void print_bandwidth() {
  const Index n = Index{1} << 24;
  const auto x = numbers(n), z = x;
  auto y = x;
  const auto all = sets();
  const auto best = best_of(all.size(), [&](std::size_t i) {
    all[i]->f32.vector->add.vv(y.data(), x.data(), z.data(), n);
  });
  std::printf("%-34s", "bandwidth of memory");
  for (const double t : best) std::printf(" %9.1f", 12e-9 * static_cast<double>(n) / t);
  std::printf("  GB/s\n");
}

void bench_gemm(Index m, Index n, Index k, bool trans_a, bool trans_b) {
  ThreadPool pool(1);
  const GemmShape shape{m, n, k, trans_a, trans_b, 0, 0, 0};
  const auto a = numbers(m * k), b = numbers(k * n);
  auto c = numbers(m * n);
  const auto all = sets();
  Memory memory(8u << 20);
  const auto best = best_of(all.size(), [&](std::size_t i) {
    gemm<float>(pool, shape, a.data(), b.data(), c.data(), {}, {memory.data(), memory.size()},
                *all[i]);
  });
  char name[64];
  std::snprintf(name, sizeof(name), "gemm %c%c %lldx%lldx%lld", trans_a ? 'T' : 'N',
                trans_b ? 'T' : 'N', static_cast<long long>(m), static_cast<long long>(n),
                static_cast<long long>(k));
  std::printf("%-34s", name);
  const double work =
      2e-9 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  for (const double t : best) std::printf(" %9.1f", work / t);
  std::printf("  GF/s\n");
}

void bench_rows(Index n) {
  const auto x = numbers(n), z = numbers(n);
  auto y = numbers(n);
  const auto all = sets();
  const auto row = [&](const char* name, auto&& body) {
    const auto best = best_of(all.size(), [&](std::size_t i) { body(*all[i]->f32.vector); });
    std::printf("%-25s %8lld", name, static_cast<long long>(n));
    for (const double t : best) std::printf(" %9.2f", static_cast<double>(n) * 1e-9 / t);
    std::printf("  G elements/s\n");
  };
  using V = VectorKernels<float>;
  const std::pair<const char*, V::Unary V::*> unary[] = {
      {"exp", &V::exp},         {"log", &V::log},   {"tanh", &V::tanh},
      {"sigmoid", &V::sigmoid}, {"erf", &V::erf},   {"gelu", &V::gelu},
      {"sin", &V::sin},         {"relu", &V::relu}, {"sqrt", &V::sqrt}};
  for (const auto& [name, function] : unary) {
    row(name, [&](const V& v) { (v.*function)(y.data(), x.data(), n); });
  }
  row("axpy", [&](const V& v) { v.axpy(y.data(), 1.5F, x.data(), n); });
  row("gelu_tanh", [&](const V& v) { v.gelu_tanh(y.data(), x.data(), n); });
  row("add", [&](const V& v) { v.add.vv(y.data(), x.data(), z.data(), n); });
  float sink = 0;
  row("sum", [&](const V& v) { sink += v.sum(x.data(), n); });
  row("dot", [&](const V& v) { sink += v.dot(x.data(), z.data(), n); });
  row("max", [&](const V& v) { sink += v.max_of(x.data(), n); });
  if (sink == 12345.0f) std::printf("\n");
}

ConvShape conv_shape(Index batch, Index in, Index out, Index groups, Index size, Index kernel,
                     Index stride) {
  ConvShape s{batch, in, out, groups, {1, size, size}, {1, kernel, kernel}};
  s.stride = {1, stride, stride};
  s.pad = {0, kernel / 2, kernel / 2};
  s.out[1] = s.out[2] = (size + 2 * (kernel / 2) - kernel) / stride + 1;
  return s;
}

void bench_conv(const ConvShape& s) {
  ThreadPool pool(1);
  const Index in = s.in[1] * s.in[2], out = s.out[1] * s.out[2], taps = s.kernel[1] * s.kernel[2];
  const auto x = numbers(s.batch * s.in_channels * in);
  const auto w = numbers(s.out_channels * s.in_channels / s.groups * taps);
  const auto dy = numbers(s.batch * s.out_channels * out);
  auto y = dy, dx = x, dw = w;
  const auto all = sets();
  const double work = 2e-9 * static_cast<double>(s.batch * s.out_channels * out) *
                      static_cast<double>(s.in_channels / s.groups * taps);
  const auto row = [&](const char* what, auto&& body) {
    const auto best = best_of(all.size(), [&](std::size_t i) { body(*all[i]); });
    char name[96];
    std::snprintf(name, sizeof(name), "conv%s %lldx%lldx%lld^2 %lld k%lld s%lld g%lld", what,
                  static_cast<long long>(s.batch), static_cast<long long>(s.in_channels),
                  static_cast<long long>(s.in[1]), static_cast<long long>(s.out_channels),
                  static_cast<long long>(s.kernel[1]), static_cast<long long>(s.stride[1]),
                  static_cast<long long>(s.groups));
    std::printf("%-34s", name);
    for (const double t : best) std::printf(" %9.1f", work / t);
    std::printf("  GF/s\n");
  };
  Memory memory(16u << 20);
  const Workspace ws{memory.data(), memory.size()};
  const auto run = [&](const SimdTables& k, ConvDirection direction, float* result) {
    ConvPrimitive<float>::make({s, direction}, 1, k)
        .run(pool, {x.data(), w.data(), dy.data(), nullptr, result}, ws);
  };
  row("", [&](const SimdTables& k) { run(k, ConvDirection::forward, y.data()); });
  row(" dx", [&](const SimdTables& k) { run(k, ConvDirection::backward_data, dx.data()); });
  row(" dw", [&](const SimdTables& k) { run(k, ConvDirection::backward_weights, dw.data()); });
}

void bench_layers() {
  ThreadPool pool(1);
  const auto all = sets();
  const auto row = [&](const char* name, double elements, auto&& body) {
    const auto best = best_of(all.size(), [&](std::size_t i) { body(*all[i]); });
    std::printf("%-34s", name);
    for (const double t : best) std::printf(" %9.2f", elements * 1e-9 / t);
    std::printf("  G elements/s\n");
  };
  const Index planes = 64, size = 56;
  const auto x = numbers(planes * size * size);
  auto y = x, dx = x;
  const auto n = static_cast<double>(x.size());
  std::vector<Index> index(x.size());
  std::vector<float> mean(64), variance(64), scale(64, 1), bias(64);
  std::vector<float> scale_gradient(64), bias_gradient(64);
  PoolShape p{planes, {1, size, size}, {1, 2, 2}, {1, size / 2, size / 2}, {1, 2, 2}};
  const auto pooled = [&](const char* name, const PoolDesc& desc, const PoolArgs<float>& args) {
    row(name, n, [&](const SimdTables& k) { PoolPrimitive<float>(desc, k).run(pool, args); });
  };
  pooled("max_pool 2x2", {.shape = p, .indices = true},
         {.x = x.data(), .result = y.data(), .new_indices = index.data()});
  pooled("max_pool 2x2, no index", {.shape = p}, {.x = x.data(), .result = y.data()});
  pooled("max_pool derivative 2x2", {.shape = p, .backward = true},
         {.dy = y.data(), .indices = index.data(), .result = dx.data()});
  pooled("average_pool 2x2", {p, PoolKind::average}, {.x = x.data(), .result = y.data()});
  const BatchNormArgs<float> norm{.x = x.data(),
                                  .scale = scale.data(),
                                  .bias = bias.data(),
                                  .mean = mean.data(),
                                  .variance = variance.data(),
                                  .dy = y.data(),
                                  .y = y.data(),
                                  .batch_mean = mean.data(),
                                  .batch_variance = variance.data(),
                                  .dx = dx.data(),
                                  .dscale = scale_gradient.data(),
                                  .dbias = bias_gradient.data()};
  const auto normalized = [&](const char* name, BatchNormPass pass) {
    row(name, n, [&](const SimdTables& k) {
      BatchNormPrimitive<float>({{1, planes, size * size}, pass}, k).run(pool, norm);
    });
  };
  normalized("batch_norm, training", BatchNormPass::training);
  normalized("batch_norm, inference", BatchNormPass::inference);
  normalized("batch_norm, backward", BatchNormPass::backward);
  std::vector<float> gates(4 * 128), cell(128), hidden(128), slope(4 * 128);
  row("LSTM cells, rows of 128", 128, [&](const SimdTables& k) {
    std::fill(gates.begin(), gates.end(), 0.5f);
    cell_kernels<float>(k).lstm(gates.data(), cell.data(), hidden.data(), 128);
  });
  row("LSTM cell gradients, rows of 128", 128, [&](const SimdTables& k) {
    std::fill(cell.begin(), cell.end(), 0.5f);
    cell_kernels<float>(k).lstm_gradient({.n = 128,
                                          .z = gates.data(),
                                          .old = hidden.data(),
                                          .c = hidden.data(),
                                          .dh = hidden.data(),
                                          .dy = hidden.data(),
                                          .dc = cell.data(),
                                          .dz = slope.data()});
  });
  row("column_sums, rows of 1024", n, [&](const SimdTables& k) {
    column_sums(pool, y.data(), x.data(), static_cast<Index>(x.size()) / 1024, 1024, 1024, k);
  });
  row("softmax, rows of 128", n, [&](const SimdTables& k) {
    SoftmaxPrimitive<float>({.outer = static_cast<Index>(x.size()) / 128, .length = 128}, k)
        .run(pool, {.x = x.data(), .result = y.data()});
  });
}

}  // namespace

int main(int argc, char** argv) {
  const auto wants = [&](const char* what) { return argc < 2 || std::strcmp(argv[1], what) == 0; };
  std::printf("%-34s", "");
  for (const auto* k : sets()) std::printf(" %9s", isa_name(*k));
  std::printf("\n");
  print_peak();
  if (wants("gemm")) {
    const Index sizes[][3] = {
        {32, 32, 32},       {64, 64, 64},    {128, 128, 128}, {256, 256, 256},   {512, 512, 512},
        {1024, 1024, 1024}, {32, 10, 128},   {64, 128, 784},  {64, 256, 784},    {768, 512, 768},
        {1, 256, 784},      {8, 256, 784},   {64, 10, 128},   {1024, 1024, 256}, {1024, 256, 1024},
        {128, 128, 64},     {16, 512, 40},   {16, 512, 128},  {8, 512, 128},     {256, 256, 2048},
        {512, 2048, 2048},  {2048, 512, 512}};
    for (const auto& s : sizes) {
      for (const int t : {0, 1, 2, 3}) bench_gemm(s[0], s[1], s[2], t >= 2, t % 2 == 1);
    }
  }
  if (wants("rows")) {
    print_bandwidth();
    bench_rows(4096);
    bench_rows(Index{1} << 22);  // not in a cache
  }
  if (wants("conv")) {
    // ResNet-18 for 32x32 images, MobileNetV2, LeNet
    bench_conv(conv_shape(8, 64, 64, 1, 32, 3, 1));
    bench_conv(conv_shape(8, 128, 128, 1, 16, 3, 1));
    bench_conv(conv_shape(8, 256, 256, 1, 8, 3, 1));
    bench_conv(conv_shape(8, 512, 512, 1, 4, 3, 1));
    bench_conv(conv_shape(8, 64, 128, 1, 32, 3, 2));
    bench_conv(conv_shape(8, 64, 128, 1, 32, 1, 2));
    bench_conv(conv_shape(8, 3, 64, 1, 32, 3, 1));
    bench_conv(conv_shape(8, 96, 24, 1, 56, 1, 1));
    bench_conv(conv_shape(8, 16, 96, 1, 112, 1, 1));
    bench_conv(conv_shape(8, 160, 960, 1, 7, 1, 1));
    bench_conv(conv_shape(8, 3, 32, 1, 224, 3, 2));
    bench_conv(conv_shape(8, 32, 32, 32, 112, 3, 1));
    bench_conv(conv_shape(8, 96, 96, 96, 112, 3, 2));
    bench_conv(conv_shape(8, 144, 144, 144, 56, 3, 1));
    bench_conv(conv_shape(8, 192, 192, 192, 28, 3, 1));
    bench_conv(conv_shape(8, 576, 576, 576, 14, 3, 2));
    bench_conv(conv_shape(8, 960, 960, 960, 7, 3, 1));
    bench_conv(conv_shape(32, 1, 8, 1, 28, 5, 1));
    bench_conv(conv_shape(32, 8, 16, 1, 14, 5, 1));
  }
  if (wants("layers")) bench_layers();
}
