#include "trainer/cluster/tree_sum.h"

#include <algorithm>
#include <span>
#include <utility>

#include "core/float_formats.h"

namespace ondine::cluster {
namespace {

template <class T>
void add_to(T* sum, const T* term, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) sum[i] += term[i];
}

// Leaves the sum of the terms, which lie one after the other, in the first.
template <class T>
void add_tree(T* terms, std::size_t count, std::size_t size) {
  // Nodes of a binary counter: where they begin, and how many terms they hold.
  std::vector<std::pair<std::size_t, std::size_t>> nodes;
  const auto merge = [&] {
    const auto [from, held] = nodes.back();
    nodes.pop_back();
    add_to(terms + nodes.back().first * size, terms + from * size, size);
    nodes.back().second += held;
  };
  for (std::size_t i = 0; i < count; ++i) {
    nodes.emplace_back(i, 1);
    while (nodes.size() > 1 && nodes[nodes.size() - 2].second == nodes.back().second) merge();
  }
  while (nodes.size() > 1) merge();
}

// Adds size() parts, of which each rank sums up one.
template <class T>
void add_parts(Communicator& ranks, std::span<T> values, std::span<T> terms) {
  const std::span received = terms.first(values.size());
  const std::size_t part = values.size() / ranks.size();
  ranks.all_to_all(std::as_bytes(values), std::as_writable_bytes(received));
  add_tree(received.data(), ranks.size(), part);
  ranks.all_gather(std::as_bytes(received.first(part)), std::as_writable_bytes(values));
}

template <class T>
void add_ranks(Communicator& ranks, std::span<T> values, std::size_t piece) {
  const std::size_t size = ranks.size();
  const std::size_t most = (std::min(piece, values.size()) + size - 1) / size * size;
  std::vector<T> terms(most);
  while (values.size() >= size) {
    const std::size_t count = std::min(most, values.size() / size * size);
    add_parts(ranks, values.first(count), std::span(terms));
    values = values.subspan(count);
  }
  if (values.empty()) return;
  std::vector<T> rest(values.begin(), values.end());
  rest.resize(size);
  add_parts(ranks, std::span(rest), std::span(terms));
  std::copy_n(rest.begin(), values.size(), values.begin());
}

template <class T>
void add_pieces(Communicator& ranks, std::span<T> values, std::size_t piece) {
  if (ranks.size() == 1) return;
  for (std::size_t from = 0; from < values.size(); from += piece) {
    ranks.add(values.subspan(from, std::min(piece, values.size() - from)));
  }
}

}  // namespace

void Numbers::set_zero() {
  std::fill(floats.begin(), floats.end(), 0.0F);
  std::fill(doubles.begin(), doubles.end(), 0.0);
}

void TreeSum::merge() {
  Node last = std::move(nodes_.back());
  nodes_.pop_back();
  Node& node = nodes_.back();
  add_to(node.sum.floats.data(), last.sum.floats.data(), node.sum.floats.size());
  add_to(node.sum.doubles.data(), last.sum.doubles.data(), node.sum.doubles.size());
  node.terms += last.terms;
  free_.push_back(std::move(last.sum));
}

void TreeSum::add(Numbers& term) {
  const std::size_t floats = term.floats.size();
  const std::size_t doubles = term.doubles.size();
  nodes_.push_back({std::move(term), 1});
  while (nodes_.size() > 1 && nodes_[nodes_.size() - 2].terms == nodes_.back().terms) merge();
  if (free_.empty()) {
    term = {std::vector<float>(floats), std::vector<double>(doubles)};
  } else {
    term = std::move(free_.back());
    free_.pop_back();
  }
}

Numbers TreeSum::finish() {
  while (nodes_.size() > 1) merge();
  Numbers sum = std::move(nodes_.back().sum);
  nodes_.clear();
  return sum;
}

void TreeSum::begin(Numbers memory) {
  for (Node& node : nodes_) free_.push_back(std::move(node.sum));
  nodes_.clear();
  if (!memory.floats.empty() || !memory.doubles.empty()) free_.push_back(std::move(memory));
}

void add_ranks(Communicator& ranks, Numbers& numbers, std::size_t piece) {
  if (ranks.size() == 1) return;
  add_ranks(ranks, std::span(numbers.floats), piece);
  add_ranks(ranks, std::span(numbers.doubles), piece);
}

void add_quickly(Communicator& ranks, std::span<float> values, std::size_t piece) {
  add_pieces(ranks, values, piece);
}

void add_quickly(Communicator& ranks, std::span<double> values, std::size_t piece) {
  add_pieces(ranks, values, piece);
}

void add_rounded(Communicator& ranks, std::span<float> values, std::size_t piece) {
  if (ranks.size() == 1) return;
  const std::size_t size = ranks.size();
  std::vector<bfloat16> own, received;
  std::vector<float> sums;
  while (!values.empty()) {
    const std::span now = values.first(std::min(piece, values.size()));
    const std::size_t part = (now.size() + size - 1) / size;
    own.assign(part * size, bfloat16{});
    received.resize(part * size);
    std::transform(now.begin(), now.end(), own.begin(), [](float x) { return to_bfloat16(x); });
    ranks.all_to_all(std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(received)));
    sums.assign(part, 0);
    for (std::size_t i = 0; i < received.size(); ++i) sums[i % part] += to_float(received[i]);
    std::transform(sums.begin(), sums.end(), received.begin(),
                   [](float x) { return to_bfloat16(x); });
    ranks.all_gather(std::as_bytes(std::span(received).first(part)),
                     std::as_writable_bytes(std::span(own)));
    std::transform(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(now.size()), now.begin(),
                   [](bfloat16 x) { return to_float(x); });
    values = values.subspan(now.size());
  }
}

}  // namespace ondine::cluster
