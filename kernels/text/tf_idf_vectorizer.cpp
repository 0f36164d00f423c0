// tf_idf_vectorizer.cpp — counts the n-grams of a pool, including those with skipped tokens, in
// each row of tokens:
//   Y[ngram_indexes[i]] += f(count of n-gram i)
// where f is the count (TF), the weight if the n-gram occurs (IDF), or weight * count (TFIDF).
#include <algorithm>
#include <map>

#include "core/checked.h"
#include "core/stop.h"
#include "kernels/common/op.h"

namespace ondine::kernels::ops {
namespace {

enum class Mode { tf, idf, tfidf };

Mode mode_of(const NodeView& node) {
  const std::string mode = node.attr_string("mode", "");
  if (mode == "TF") return Mode::tf;
  if (mode == "IDF") return Mode::idf;
  if (mode == "TFIDF") return Mode::tfidf;
  fail(ErrorCode::invalid_model, "attribute 'mode' is ", quoted(mode), ", not TF, IDF or TFIDF");
}

std::int64_t output_size(const NodeView& node) {
  std::int64_t size = 0;
  for (const std::int64_t index : node.attr_ints("ngram_indexes")) {
    if (index < 0) fail(ErrorCode::invalid_model, "attribute 'ngram_indexes' has ", index);
    size = std::max(size, checked_add(index, 1));
  }
  return size;
}

void infer(InferContext& context) {
  mode_of(context);
  const Dim size = output_size(context);
  if (!context.ranked(0)) return context.set_output(0, DType::float32, std::nullopt);
  if (context.rank(0) != 1 && context.rank(0) != 2) {
    context.reject("x must have shape [C] or [N, C], found ", graph::to_string(context.dims(0)));
  }
  Dims dims = context.dims(0);
  dims.back() = size;
  context.set_output(0, DType::float32, std::move(dims));
}

// The n-grams as paths of tokens.
class Trie {
 public:
  void insert(std::span<const std::int64_t> tokens, std::size_t ngram) {
    std::size_t at = 0;
    for (const std::int64_t token : tokens) {
      const auto [edge, added] = edges_.try_emplace({at, token}, nodes_.size());
      if (added) nodes_.emplace_back();
      at = edge->second;
    }
    nodes_[at].push_back(ngram);
  }
  // The child of node `at` for a token; 0, the root, without one.
  std::size_t next(std::size_t at, std::int64_t token) const {
    const auto edge = edges_.find({at, token});
    return edge == edges_.end() ? 0 : edge->second;
  }
  const std::vector<std::size_t>& ngrams(std::size_t node) const { return nodes_[node]; }

 private:
  std::map<std::pair<std::size_t, std::int64_t>, std::size_t> edges_;
  std::vector<std::vector<std::size_t>> nodes_{1};  // n-grams that end at each node
};

class Vectorizer {
 public:
  Vectorizer(const NodeView& node, bool text) : mode_(mode_of(node)), size_(output_size(node)) {
    shortest_ = node.attr_int("min_gram_length", 0);
    longest_ = node.attr_int("max_gram_length", 0);
    skips_ = node.attr_int("max_skip_count", 0);
    if (shortest_ < 1 || longest_ < shortest_ || skips_ < 0) {
      fail(ErrorCode::invalid_model, "n-grams of ", shortest_, " to ", longest_,
           " tokens with at most ", skips_, " skipped, needed: 1 <= min <= max and skips >= 0");
    }
    if (node.has_attr(text ? "pool_int64s" : "pool_strings") ||
        !node.has_attr(text ? "pool_strings" : "pool_int64s")) {
      fail(ErrorCode::invalid_model, "a pool of ", text ? "strings" : "integers", " is needed");
    }
    std::vector<std::int64_t> pool = node.attr_ints("pool_int64s");
    if (text) {
      for (const std::string& word : node.attr_strings("pool_strings")) {
        pool.push_back(
            words_.try_emplace(word, static_cast<std::int64_t>(words_.size())).first->second);
      }
    }
    indexes_ = node.attr_ints("ngram_indexes");
    weights_ = node.attr_floats("weights", std::vector<float>(indexes_.size(), 1));
    fill(pool, node.attr_ints("ngram_counts"));
    if (weights_.size() != indexes_.size()) {
      fail(ErrorCode::invalid_model, weights_.size(), " weights for ", indexes_.size(), " n-grams");
    }
  }

  std::int64_t size() const noexcept { return size_; }
  std::size_t ngrams() const noexcept { return indexes_.size(); }
  std::int64_t token(const std::string& word) const {
    const auto found = words_.find(word);
    return found == words_.end() ? -1 : found->second;
  }
  template <class T>
  std::int64_t token(T number) const {
    return static_cast<std::int64_t>(number);
  }

  void run(std::span<const std::int64_t> row, std::span<std::int64_t> counts, float* y) const {
    std::fill(counts.begin(), counts.end(), 0);
    const auto length = static_cast<std::int64_t>(row.size());
    for (std::int64_t step = 1; step <= std::max<std::int64_t>(1, length); ++step) {
      if (step > 1 && (step - 1 > skips_ || longest_ == 1)) break;
      for (std::int64_t start = 0; start < length; ++start) {
        std::size_t node = 0;
        for (std::int64_t n = 1; n <= longest_; ++n) {
          const std::int64_t at = start + (n - 1) * step;
          if (at >= length) break;
          node = trie_.next(node, row[static_cast<std::size_t>(at)]);
          checkpoint(64);
          if (node == 0) break;
          if (n < shortest_ || (n == 1 && step > 1)) continue;  // one token has no gaps
          checkpoint(static_cast<std::int64_t>(trie_.ngrams(node).size()));
          for (const std::size_t ngram : trie_.ngrams(node)) ++counts[ngram];
        }
      }
    }
    std::fill_n(y, size_, 0.0F);
    for (std::size_t i = 0; i < indexes_.size(); ++i) {
      if (counts[i] == 0) continue;
      const auto count = static_cast<float>(counts[i]);
      y[indexes_[i]] += mode_ == Mode::tf    ? count
                        : mode_ == Mode::idf ? weights_[i]
                                             : count * weights_[i];
    }
  }

 private:
  // `starts[n - 1]` is where the n-grams of n tokens begin in the pool.
  void fill(std::span<const std::int64_t> pool, std::span<const std::int64_t> starts) {
    if (static_cast<std::int64_t>(starts.size()) < longest_) {
      fail(ErrorCode::invalid_model, "attribute 'ngram_counts' has ", starts.size(),
           " elements, n-grams have up to ", longest_, " tokens");
    }
    const auto total = static_cast<std::int64_t>(pool.size());
    std::size_t ngram = 0;
    for (std::size_t k = 0; k < starts.size(); ++k) {
      const std::int64_t first = starts[k];
      const std::int64_t last = k + 1 < starts.size() ? starts[k + 1] : total;
      const auto tokens = static_cast<std::int64_t>(k) + 1;
      if (first < 0 || first > last || last > total || (last - first) % tokens != 0) {
        fail(ErrorCode::invalid_model, "attribute 'ngram_counts' gives the n-grams of ", tokens,
             " tokens the range [", first, ", ", last, ") of a pool of ", total);
      }
      for (std::int64_t at = first; at < last; at += tokens, ++ngram) {
        trie_.insert(pool.subspan(static_cast<std::size_t>(at), k + 1), ngram);
      }
    }
    if (ngram != indexes_.size()) {
      fail(ErrorCode::invalid_model, indexes_.size(), " elements in 'ngram_indexes' for a pool of ",
           ngram, " n-grams");
    }
  }

  Mode mode_;
  std::int64_t size_;
  std::int64_t shortest_ = 1;
  std::int64_t longest_ = 1;
  std::int64_t skips_ = 0;
  Trie trie_;
  std::map<std::string, std::int64_t> words_;
  std::vector<std::int64_t> indexes_;
  std::vector<float> weights_;
};

Kernel bind(BindContext& context) {
  const Shape x = context.shape(0);
  const std::int64_t length = x.back();
  const std::int64_t rows = x.rank() == 2 ? x[0] : 1;
  const Vectorizer vectorizer(context, context.dtype(0) == DType::string);
  using Tokens = Types<std::int64_t, std::int32_t, std::string>;
  return visit(context.dtype(0), Tokens{}, [&]<class T>() -> Kernel {
    return [=](KernelContext& call) {
      const T* from = call.in<T>(0);
      auto* y = call.out<float>(0);
      call.pool().for_chunks(rows, 8, [&](std::int64_t first, std::int64_t last) {
        std::vector<std::int64_t> row(static_cast<std::size_t>(length));
        std::vector<std::int64_t> counts(vectorizer.ngrams());
        for (auto r = first; r < last; ++r) {
          for (std::int64_t i = 0; i < length; ++i) {
            checkpoint(64);
            row[static_cast<std::size_t>(i)] = vectorizer.token(from[r * length + i]);
          }
          vectorizer.run(row, counts, y + r * vectorizer.size());
        }
      });
    };
  });
}

}  // namespace

extern const OpDef tf_idf_vectorizer{.name = "TfIdfVectorizer", .infer = infer, .bind = bind};

}  // namespace ondine::kernels::ops
