// Products, convolutions and element-wise loops on one thread against the peak of multiply-adds and
// the bandwidth of memory, which are measured first. Google Benchmark: --benchmark_filter=gemm,
// --benchmark_format=json. ONDINE_ISA chooses the instruction set.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include "bench/numbers.h"
#include "bench/run/peak.h"
#include "kernels/conv/conv_primitive.h"
#include "kernels/elementwise/vector.h"

namespace {

using namespace ondine;
using namespace ondine::math;
using bench::Memory;
using bench::numbers;
using Index = std::int64_t;

// Bytes a second, in 10^9, of reading two large arrays and writing a third.
double bandwidth() {
  const auto a = numbers(Index{1} << 24), b = a;
  auto c = a;
  double best = 0;
  for (int round = 0; round < 5; ++round) {
    const auto start = std::chrono::steady_clock::now();
    vector_kernels<float>().add.vv(c.data(), a.data(), b.data(), static_cast<Index>(a.size()));
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    best = std::max(best, 12e-9 * static_cast<double>(a.size()) / time.count());
  }
  return best;
}

double peak = 0;            // GF/s of one thread
double peak_bandwidth = 0;  // GB/s

// `work`: operations of an iteration.
void report(benchmark::State& state, double work) {
  const auto total = work * static_cast<double>(state.iterations());
  state.counters["GF"] = benchmark::Counter(total * 1e-9, benchmark::Counter::kIsRate);
  state.counters["peak"] = benchmark::Counter(total * 1e-9 / peak, benchmark::Counter::kIsRate);
}

void product(benchmark::State& state, const GemmShape& shape) {
  ThreadPool pool(1);
  const auto a = numbers(shape.m * shape.k), b = numbers(shape.k * shape.n);
  auto c = numbers(shape.m * shape.n);
  Memory memory(gemm_workspace<float>(shape, 1, 1));
  for (auto _ : state) {
    gemm<float>(pool, shape, a.data(), b.data(), c.data(), {}, {memory.data(), memory.size()});
    benchmark::ClobberMemory();
  }
  report(state, 2.0 * static_cast<double>(shape.m * shape.n) * static_cast<double>(shape.k));
}

void convolution(benchmark::State& state, const ConvDesc& desc) {
  const ConvShape& s = desc.shape;
  ThreadPool pool(1);
  const Index in = s.in[1] * s.in[2], out = s.out[1] * s.out[2], taps = s.kernel[1] * s.kernel[2];
  auto x = numbers(s.batch * s.in_channels * in);
  auto w = numbers(s.out_channels * s.in_channels / s.groups * taps);
  auto y = numbers(s.batch * s.out_channels * out);
  auto result = numbers(static_cast<Index>(std::max({x.size(), w.size(), y.size()})));
  const auto primitive = ConvPrimitive<float>::make(desc, 1);
  Memory memory(primitive.workspace());
  const Workspace work{memory.data(), memory.size()};
  for (auto _ : state) {
    primitive.run(pool, {x.data(), w.data(), y.data(), nullptr, result.data()}, work);
    benchmark::ClobberMemory();
  }
  report(state, 2.0 * static_cast<double>(s.batch * s.out_channels * out) *
                    static_cast<double>(s.in_channels / s.groups * taps));
}

template <class Body>
void rows(benchmark::State& state, Index arrays, Body body) {
  const Index n = state.range(0);
  const auto a = numbers(n), b = numbers(n);
  auto c = numbers(n);
  for (auto _ : state) {
    body(vector_kernels<float>(), c.data(), a.data(), b.data(), n);
    benchmark::ClobberMemory();
  }
  const auto total = static_cast<double>(state.iterations() * n);
  state.counters["elements"] = benchmark::Counter(total, benchmark::Counter::kIsRate);
  const double bytes = total * static_cast<double>(arrays) * sizeof(float);
  state.counters["bandwidth"] =
      benchmark::Counter(bytes * 1e-9 / peak_bandwidth, benchmark::Counter::kIsRate);
}

void add_products() {
  const Index sizes[][3] = {{32, 32, 32},    {64, 64, 64},       {128, 128, 128},   {256, 256, 256},
                            {512, 512, 512}, {1024, 1024, 1024}, {64, 256, 784},    {768, 512, 768},
                            {1, 256, 784},   {1024, 1024, 256},  {1024, 256, 1024}, {16, 512, 128}};
  for (const auto& s : sizes) {
    for (int t = 0; t < 4; ++t) {
      const GemmShape shape{s[0], s[1], s[2], (t & 1) != 0, (t & 2) != 0};
      const std::string name = std::string("gemm/") + (shape.trans_a ? 'T' : 'N') +
                               (shape.trans_b ? 'T' : 'N') + '/' + std::to_string(s[0]) + 'x' +
                               std::to_string(s[1]) + 'x' + std::to_string(s[2]);
      benchmark::RegisterBenchmark(name.c_str(),
                                   [shape](benchmark::State& state) { product(state, shape); });
    }
  }
}

void add_convolutions() {
  struct Case {
    Index batch, in, out, groups, size, kernel, stride;
  };
  const Case cases[] = {
      {8, 64, 64, 1, 32, 3, 1},     {8, 256, 256, 1, 8, 3, 1},    {8, 64, 128, 1, 32, 3, 2},
      {8, 3, 32, 1, 224, 3, 2},     {8, 96, 24, 1, 56, 1, 1},     {8, 160, 960, 1, 7, 1, 1},
      {8, 144, 144, 144, 56, 3, 1}, {8, 576, 576, 576, 14, 3, 2}, {32, 8, 16, 1, 14, 5, 1}};
  for (const Case& c : cases) {
    ConvShape s{c.batch, c.in, c.out, c.groups, {1, c.size, c.size}, {1, c.kernel, c.kernel}};
    s.stride = {1, c.stride, c.stride};
    s.pad = {0, c.kernel / 2, c.kernel / 2};
    s.out[1] = s.out[2] = (c.size + 2 * (c.kernel / 2) - c.kernel) / c.stride + 1;
    const char* const names[] = {"y", "dx", "dw"};
    for (int which = 0; which < 3; ++which) {
      const ConvDesc desc{s, static_cast<ConvDirection>(which)};
      const std::string name = std::string("conv/") + names[which] + '/' + std::to_string(c.batch) +
                               'x' + std::to_string(c.in) + 'x' + std::to_string(c.size) + "^2/" +
                               std::to_string(c.out) + "/k" + std::to_string(c.kernel) + 's' +
                               std::to_string(c.stride) + 'g' + std::to_string(c.groups);
      benchmark::RegisterBenchmark(name.c_str(),
                                   [desc](benchmark::State& state) { convolution(state, desc); });
    }
  }
}

template <class Body>
void add_rows(const char* name, Index arrays, Body body) {
  benchmark::RegisterBenchmark(
      name, [arrays, body](benchmark::State& state) { rows(state, arrays, body); })
      ->Arg(4096)
      ->Arg(Index{1} << 22);
}

void add_elementwise() {
  using V = VectorKernels<float>;
  using P = const float*;
  add_rows("rows/add", 3, [](const V& v, float* c, P a, P b, Index n) { v.add.vv(c, a, b, n); });
  add_rows("rows/axpy", 3, [](const V& v, float* c, P a, P, Index n) { v.axpy(c, 1.5f, a, n); });
  add_rows("rows/relu", 2, [](const V& v, float* c, P a, P, Index n) { v.relu(c, a, n); });
  add_rows("rows/exp", 2, [](const V& v, float* c, P a, P, Index n) { v.exp(c, a, n); });
  add_rows("rows/tanh", 2, [](const V& v, float* c, P a, P, Index n) { v.tanh(c, a, n); });
  add_rows("rows/gelu", 2, [](const V& v, float* c, P a, P, Index n) { v.gelu(c, a, n); });
  add_rows("rows/sum", 1, [](const V& v, float* c, P a, P, Index n) { *c = v.sum(a, n); });
}

}  // namespace

int main(int argc, char** argv) {
  peak = bench::peak_gflops();
  peak_bandwidth = bandwidth();
  benchmark::AddCustomContext("peak GF/s of a thread", std::to_string(peak));
  benchmark::AddCustomContext("bandwidth GB/s", std::to_string(peak_bandwidth));
  add_products();
  add_convolutions();
  add_elementwise();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
