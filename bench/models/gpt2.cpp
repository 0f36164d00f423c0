// GPT-2 of 124 million weights, which L1 tunes by adapters of rank 8 on the projections to queries,
// keys and values, and L2 as a whole.
#include <cmath>

#include "bench/models/workloads.h"

namespace bench {
namespace {

using Int64s = std::vector<std::int64_t>;

constexpr std::int64_t width = 768;
constexpr std::int64_t heads = 12;
constexpr std::int64_t vocabulary = 50257;
constexpr std::int64_t positions = 256;
constexpr std::int64_t rank = 8;
constexpr double spread = 0.02;

// x [N, T, in] -> [N, T, out]; weight [in, out].
std::string project(Layers& net, const std::string& x, const std::string& name, std::int64_t in,
                    std::int64_t out) {
  const std::string product =
      net.op("MatMul", {x, net.uniform(name + ".weight", {in, out}, spread)});
  return net.op("Add", {product, net.filled(name + ".bias", {out}, 0)});
}

std::string adapter(Layers& net, const std::string& x, const std::string& name, std::int64_t in,
                    std::int64_t out) {
  const std::string down = net.op("MatMul", {x, net.uniform(name + ".lora_a", {in, rank}, spread)});
  return net.op("MatMul", {down, net.uniform(name + ".lora_b", {rank, out}, spread)});
}

std::string attention(Layers& net, const std::string& x, const std::string& name, bool adapted) {
  std::string joined = project(net, x, name + ".qkv", width, 3 * width);
  if (adapted) {
    joined = net.op("Add", {joined, adapter(net, x, name + ".qkv", width, 3 * width)});
  }
  const std::vector<std::string> parts{name + ".query", name + ".key", name + ".value"};
  net.builder().node("Split", "", {joined, "thirds"}, parts, {{"axis", std::int64_t{-1}}});
  const auto heads_of = [&](const std::string& y, const Int64s& perm) {
    return net.op("Transpose", {net.op("Reshape", {y, "by_head"})}, {{"perm", perm}});
  };
  const std::string query = net.op("Mul", {heads_of(parts[0], {0, 2, 1, 3}), "scale"});
  const std::string scores = net.op("MatMul", {query, heads_of(parts[1], {0, 2, 3, 1})});
  const std::string weights =
      net.op("Softmax", {net.op("Add", {scores, "causal"})}, {{"axis", std::int64_t{-1}}});
  const std::string mixed =
      net.op("Transpose", {net.op("MatMul", {weights, heads_of(parts[2], {0, 2, 1, 3})})},
             {{"perm", Int64s{0, 2, 1, 3}}});
  return project(net, net.op("Reshape", {mixed, "together"}), name + ".out", width, width);
}

std::string block(Layers& net, std::string x, const std::string& name, bool adapted) {
  const std::string normed = net.layer_norm(x, name + ".norm1", width);
  x = net.op("Add", {x, attention(net, normed, name + ".attention", adapted)});
  std::string y =
      project(net, net.layer_norm(x, name + ".norm2", width), name + ".up", width, 4 * width);
  y = net.op("Gelu", {y}, {{"approximate", std::string("tanh")}});
  return net.op("Add", {x, project(net, y, name + ".down", 4 * width, width)});
}

// 0 where a position may look, and far below where it may not.
Tensor causal_mask() {
  Tensor mask(DType::float32, {positions, positions});
  const auto elements = mask.mutable_values<float>();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    elements[i] = i % positions > i / positions ? -1e9F : 0.0F;
  }
  return mask;
}

ModelBuilder gpt2(bool adapted) {
  Layers net("gpt2", 8, 21);
  ModelBuilder& b = net.builder();
  const std::string ids = b.input("x", DType::int64, {"N", positions});
  net.int64s("by_head", {0, 0, heads, width / heads});
  net.int64s("together", {0, 0, width});
  net.int64s("thirds", {width, width, width});
  net.int64s("rows", {-1, vocabulary});
  b.initializer("causal", causal_mask());
  b.initializer("scale", Tensor::scalar(1 / std::sqrt(static_cast<float>(width / heads))));
  const std::string words = net.uniform("words", {vocabulary, width}, spread);
  std::string x = net.op(
      "Add", {net.op("Gather", {words, ids}), net.uniform("places", {positions, width}, spread)});
  for (int i = 0; i < 12; ++i) x = block(net, x, "block" + std::to_string(i), adapted);
  x = net.layer_norm(x, "norm", width);
  const std::string scores = net.op("MatMul", {x, net.op("Transpose", {words})});
  b.output(net.op("Reshape", {scores, "rows"}), DType::float32, {"M", vocabulary});
  return std::move(b);
}

}  // namespace

ModelBuilder gpt2_with_adapters() { return gpt2(true); }
ModelBuilder gpt2_whole() { return gpt2(false); }

}  // namespace bench
