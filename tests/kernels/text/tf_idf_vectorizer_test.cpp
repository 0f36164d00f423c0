#include "tests/kernels/text/texts.h"

using namespace ondine;
using namespace ondine::test;

namespace {

using Int64s = std::vector<std::int64_t>;

struct Pool {
  std::vector<Int64s> ngrams;  // by length
  Int64s indexes;
  std::vector<float> weights;
  std::string mode = "TF";
  std::int64_t min = 1, max = 2, skips = 0;
};

graph::Attributes attributes_of(const Pool& pool, bool text) {
  Int64s flat;
  std::vector<std::string> words;
  Int64s starts(static_cast<std::size_t>(pool.max), 0);
  for (std::size_t length = 1; length <= starts.size(); ++length) {
    starts[length - 1] = static_cast<std::int64_t>(flat.size());
    for (const Int64s& ngram : pool.ngrams) {
      if (ngram.size() == length) flat.insert(flat.end(), ngram.begin(), ngram.end());
    }
  }
  for (const auto token : flat) words.push_back("w" + std::to_string(token));
  graph::Attributes out{{"mode", pool.mode},           {"ngram_indexes", pool.indexes},
                        {"ngram_counts", starts},      {"max_skip_count", pool.skips},
                        {"min_gram_length", pool.min}, {"max_gram_length", pool.max}};
  if (text) {
    out.emplace_back("pool_strings", words);
  } else {
    out.emplace_back("pool_int64s", flat);
  }
  if (!pool.weights.empty()) out.emplace_back("weights", pool.weights);
  return out;
}

// Looks for every n-gram at every place with every gap.
std::vector<float> expected(const Pool& pool, const Int64s& row, std::size_t size) {
  std::vector<float> y(size);
  for (std::size_t i = 0; i < pool.ngrams.size(); ++i) {
    const Int64s& ngram = pool.ngrams[i];
    const auto n = static_cast<std::int64_t>(ngram.size());
    if (n < pool.min || n > pool.max) continue;
    float count = 0;
    for (std::int64_t gap = 1; gap <= (n == 1 ? 1 : pool.skips + 1); ++gap) {
      for (std::int64_t start = 0; start + (n - 1) * gap < std::ssize(row); ++start) {
        bool same = true;
        for (std::int64_t k = 0; k < n; ++k) {
          same = same && row[static_cast<std::size_t>(start + k * gap)] ==
                             ngram[static_cast<std::size_t>(k)];
        }
        count += same ? 1.0F : 0.0F;
      }
    }
    const float weight = pool.weights.empty() ? 1 : pool.weights[i];
    if (pool.mode == "IDF") count = std::min(count, 1.0F);
    y[static_cast<std::size_t>(pool.indexes[i])] += pool.mode == "TF" ? count : count * weight;
  }
  return y;
}

Pool pool() {
  return {.ngrams = {{2}, {3}, {5}, {5, 4}, {5, 6}, {7, 8}, {6, 7}, {2, 3, 3}},
          .indexes = {0, 1, 2, 3, 4, 5, 8, 7},
          .weights = {1, 2, 3, 4, 5, 6, 7, 8}};
}

}  // namespace

TEST_CASE("TfIdfVectorizer counts n-grams with every mode, length and gap") {
  const Int64s row{2, 3, 3, 5, 5, 6, 7, 3, 8, 5, 4, 3, 3};
  for (const char* mode : {"TF", "IDF", "TFIDF"}) {
    for (std::int64_t min = 1; min <= 3; ++min) {
      for (std::int64_t max = min; max <= 3; ++max) {
        for (const std::int64_t skips : {0, 1, 5, 100}) {
          Pool p = pool();
          p.mode = mode;
          p.min = min;
          p.skips = skips;
          p.max = 3;  // the pool has all lengths; only those up to max count
          INFO(mode << " " << min << " " << max << " " << skips);
          auto attributes = attributes_of(p, false);
          for (auto& attribute : attributes) {
            if (attribute.name == "max_gram_length") attribute = {"max_gram_length", max};
          }
          p.max = max;
          const auto want = expected(p, row, 9);
          check_close(
              run_op_tensor(
                  {.op = "TfIdfVectorizer", .inputs = {int64s(row)}, .attributes = attributes}),
              Tensor::of<float>({9}, want));
        }
      }
    }
  }
}

TEST_CASE("TfIdfVectorizer takes rows of int32, int64 and strings") {
  const Int64s rows{2, 3, 5, 4, 9, 5, 6, 7, 8, 2};
  Pool p = pool();
  p.max = 3;
  p.skips = 1;
  std::vector<float> want = expected(p, {rows.begin(), rows.begin() + 5}, 9);
  const auto second = expected(p, {rows.begin() + 5, rows.end()}, 9);
  want.insert(want.end(), second.begin(), second.end());
  const Tensor y = Tensor::of<float>({2, 9}, want);
  std::vector<std::int32_t> narrow(rows.begin(), rows.end());
  std::vector<std::string> words;
  for (const auto token : rows) words.push_back("w" + std::to_string(token));
  const auto run = [&](const Tensor& x, bool text) {
    return run_op_tensor(
        {.op = "TfIdfVectorizer", .inputs = {x}, .attributes = attributes_of(p, text)});
  };
  check_close(run(Tensor::of<std::int64_t>({2, 5}, rows), false), y);
  check_close(run(Tensor::of<std::int32_t>({2, 5}, narrow), false), y);
  check_close(run(texts({2, 5}, words), true), y);
  CHECK(run(Tensor(DType::int64, {0, 5}), false).shape() == Shape{0, 9});
  check_close(run(Tensor(DType::int64, {1, 0}), false), Tensor(DType::float32, {1, 9}));
}

TEST_CASE("TfIdfVectorizer refuses what does not fit together") {
  const auto refused = [](const std::string& name, graph::Attribute::Data data,
                          const std::string& part) {
    Pool p = pool();
    p.max = 3;
    auto attributes = attributes_of(p, false);
    std::erase_if(attributes, [&](const auto& a) { return a.name == name; });
    attributes.emplace_back(name, std::move(data));
    check_refused(
        {.op = "TfIdfVectorizer", .inputs = {int64s({1})}, .attributes = std::move(attributes)},
        ErrorCode::invalid_model, part);
  };
  refused("mode", std::string("tf"), "'tf', not TF");
  refused("ngram_indexes", Int64s{0, -1}, "-1");
  refused("ngram_indexes", Int64s{0, 1}, "2 elements in 'ngram_indexes'");
  refused("ngram_counts", Int64s{0, 50, 50}, "the range [0, 50)");
  refused("ngram_counts", Int64s{3, 0, 0}, "the range [3, 0)");
  refused("ngram_counts", Int64s{0}, "1 elements");
  refused("weights", std::vector<float>{1}, "1 weights");
  refused("min_gram_length", std::int64_t{0}, "1 <= min");
  refused("max_skip_count", std::int64_t{-1}, "skips >= 0");
  refused("pool_strings", std::vector<std::string>{"a"}, "a pool of integers");
  check_refused({.op = "TfIdfVectorizer",
                 .inputs = {Tensor(DType::int64, {1, 1, 1})},
                 .attributes = attributes_of(pool(), false)},
                ErrorCode::mismatch, "[C] or [N, C]");
}
