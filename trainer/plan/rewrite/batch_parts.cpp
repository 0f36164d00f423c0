#include "trainer/plan/rewrite/batch_parts.h"

#include <algorithm>
#include <set>
#include <vector>

#include "graph/contract/op_def.h"
#include "trainer/model/sample_nodes.h"
#include "trainer/plan/rewrite/recompute.h"
#include "trainer/plan/schedule/lifetimes.h"
#include "trainer/plan/schedule/order.h"

namespace ondine::trainer {
namespace {

using namespace graph;  // NOLINT

constexpr std::int64_t max_parts = 16;
// The share of the nodes' memory traffic that reading their other inputs again may take.
constexpr std::uint64_t others_share_of_traffic = 16;
// The share of the peak that must be saved.
constexpr std::uint64_t least_share_of_peak = 8;
// The share of the peak that a longer segment may cost, which keeps more values in the caches.
constexpr std::uint64_t share_of_peak_for_caches = 16;

// The dim of axis 0, or 0.
std::int64_t batch_of(const Type& type) {
  return has_fixed_size(type) && !type.dims->empty() ? type.dims->front().size() : 0;
}

bool is_batched(const Node& node, std::size_t i) {
  return i < 32 && ((node.op->traits.per_sample >> i) & 1U) != 0;
}

bool computes_samples(const Node& node, const Graph& graph) {
  const OpTraits& traits = node.op->traits;
  return traits.per_sample != 0 &&
         (traits.is_per_sample == nullptr || traits.is_per_sample(node, graph));
}

// Nodes [first, last] of an ordered graph, and the peak with them in parts.
struct Segment {
  std::size_t first = 0;
  std::size_t last = 0;
  std::uint64_t peak = 0;
};

class PartsFinder {
 public:
  PartsFinder(const Graph& graph, const Lifetimes& lives, const std::vector<bool>& outside)
      : graph_(graph),
        lives_(lives),
        outside_(outside),
        alive_(graph.nodes.size()),
        inside_(graph.nodes.size()) {
    const std::size_t peak = lives.peak_position();
    const ValueId widest = graph.nodes[peak].outputs[0];
    if (widest != no_value) batch_ = batch_of(graph[widest].type);
    if (batch_ < 2 || !fits(peak)) return;
    first_ = peak;
    while (first_ > 0 && fits(first_ - 1)) --first_;
    count_alive();
  }

  std::int64_t batch() const { return batch_; }

  // Longest segment around the peak whose own peak is near the lowest one; if there is none, the
  // one with the peak of the graph.
  Segment best(std::int64_t parts) const {
    const std::vector<Segment> segments = around_peak(static_cast<std::uint64_t>(parts));
    Segment best{0, 0, lives_.peak_bytes()};
    for (const Segment& segment : segments) {
      if (segment.peak < best.peak) best = segment;
    }
    const std::uint64_t most = best.peak + lives_.peak_bytes() / share_of_peak_for_caches;
    for (const Segment& segment : segments) {
      if (segment.last > best.last && segment.peak <= most) best = segment;
    }
    return best;
  }

  bool has_samples(const Node& node, std::size_t i) const {
    if (!is_batched(node, i) || node.inputs[i] == no_value) return false;
    const Type& type = graph_[node.inputs[i]].type;
    return batch_of(type) == batch_ && type.rank() == graph_[node.outputs[0]].type.rank();
  }

  // Values that nodes [first, last] read the samples of and others make.
  std::vector<ValueId> read(std::size_t first, std::size_t last) const {
    std::set<ValueId> ids;
    for (std::size_t n = first; n <= last; ++n) {
      const Node& node = graph_.nodes[n];
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (has_samples(node, i) && !is_made(node.inputs[i], first, last))
          ids.insert(node.inputs[i]);
      }
    }
    return {ids.begin(), ids.end()};
  }

  // Values that nodes [first, last] make and others read.
  std::vector<ValueId> results(std::size_t first, std::size_t last) const {
    std::vector<ValueId> ids;
    for (std::size_t n = first; n <= last; ++n) {
      const ValueId id = graph_.nodes[n].outputs[0];
      if (lives_.last_use(id) > last) ids.push_back(id);
    }
    return ids;
  }

 private:
  // With few bytes that every part reads again.
  std::vector<Segment> around_peak(std::uint64_t parts) const {
    std::vector<Segment> segments;
    const std::size_t peak = lives_.peak_position();
    std::uint64_t traffic = 0, others = 0, widest = 0, results = 0, read = 0;
    std::set<ValueId> ids;                                 // that are read
    std::vector<std::uint64_t> ends(graph_.nodes.size());  // bytes that no later node reads
    for (std::size_t last = first_; last < graph_.nodes.size() && fits(last); ++last) {
      const Node& node = graph_.nodes[last];
      traffic += traffic_of(node, graph_);
      others += other_bytes(node) * (parts - 1);
      widest = std::max(widest, alive_[last] - inside_[last] + inside_[last] / parts);
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const ValueId id = node.inputs[i];
        if (has_samples(node, i) && !is_made(id, first_, last) && ids.insert(id).second)
          read += bytes_of(graph_[id].type);
      }
      const std::uint64_t made = bytes_of(graph_[node.outputs[0]].type);
      const std::size_t end = lives_.last_use(node.outputs[0]);
      if (end < ends.size()) ends[end] += made;
      results += made;
      results -= ends[last];
      if (last < peak || others > traffic / others_share_of_traffic) continue;
      const std::uint64_t apart =
          std::max(before_, last + 1 < after_.size() ? after_[last + 1] : 0);
      segments.push_back({first_, last, std::max(widest + read / parts + results, apart)});
    }
    return segments;
  }

  bool is_made(ValueId id, std::size_t first, std::size_t last) const {
    const std::size_t made = lives_.made(lives_.root(id));
    return made != Lifetimes::none && made >= first && made <= last;
  }

  bool has_fixed_sizes(const std::vector<ValueId>& ids) const {
    return std::ranges::all_of(
        ids, [&](ValueId id) { return id == no_value || has_fixed_size(graph_[id].type); });
  }

  // Whether the node computes each sample by itself.
  bool fits(std::size_t position) const {
    const Node& node = graph_.nodes[position];
    if (!node.subgraphs.empty() || !has_fixed_sizes(node.inputs) || !computes_samples(node, graph_))
      return false;
    const auto used = [](ValueId id) { return id != no_value; };
    if (std::ranges::count_if(node.outputs, used) != 1 || !used(node.outputs[0])) return false;
    if (outside_[index(node.outputs[0])] || batch_of(graph_[node.outputs[0]].type) != batch_)
      return false;
    bool any = false;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == no_value) continue;
      if (has_samples(node, i)) {
        any = true;
      } else if (!is_whole(node, i)) {
        return false;
      }
    }
    return any;
  }

  // Whether every part may read all of the input.
  bool is_whole(const Node& node, std::size_t i) const {
    const Type& type = graph_[node.inputs[i]].type;
    if (lives_.made(lives_.root(node.inputs[i])) != Lifetimes::none) return false;
    return !is_batched(node, i) || type.rank() < graph_[node.outputs[0]].type.rank() ||
           type.dims->front().size() == 1;
  }

  void count_alive() {
    const std::size_t count = graph_.nodes.size();
    std::vector<std::uint64_t> gone(count), gone_inside(count);  // after each node
    for (std::size_t v = 0; v < graph_.values.size(); ++v) {
      const auto id = static_cast<ValueId>(v);
      const std::size_t made = lives_.made(id);
      if (made == Lifetimes::none || outside_[v]) continue;
      const std::uint64_t bytes = bytes_of(graph_[id].type);
      const std::size_t end = lives_.last_use(id);
      alive_[made] += bytes;
      if (end < count) gone[end] += bytes;
      if (made < first_) continue;
      inside_[made] += bytes;
      if (end < count) gone_inside[end] += bytes;
    }
    for (std::size_t n = 1; n < count; ++n) {
      alive_[n] += alive_[n - 1] - gone[n - 1];
      inside_[n] += inside_[n - 1] - gone_inside[n - 1];
    }
    for (std::size_t n = 0; n < first_; ++n) before_ = std::max(before_, alive_[n]);
    after_ = alive_;
    for (std::size_t n = count - 1; n-- > 0;) after_[n] = std::max(after_[n], after_[n + 1]);
  }

  std::uint64_t other_bytes(const Node& node) const {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != no_value && !has_samples(node, i))
        bytes += bytes_of(graph_[node.inputs[i]].type);
    }
    return bytes;
  }

  const Graph& graph_;
  const Lifetimes& lives_;
  const std::vector<bool>& outside_;
  std::vector<std::uint64_t> alive_;   // by node: bytes of the arena
  std::vector<std::uint64_t> inside_;  // by node: of these what the segment makes
  std::vector<std::uint64_t> after_;   // by node: the most alive from it on
  std::uint64_t before_ = 0;           // the most alive before first_
  std::int64_t batch_ = 0;
  std::size_t first_ = 0;  // of all segments
};

// Rebuilds the list of nodes with a segment in parts.
class Splitter {
 public:
  Splitter(Graph& graph, const PartsFinder& finder, const Segment& segment, std::int64_t count)
      : graph_(graph), finder_(finder), segment_(segment), count_(count) {}

  // False where the build lacks the operators.
  bool run() {
    const std::vector<ValueId> read = finder_.read(segment_.first, segment_.last);
    const std::vector<ValueId> results = finder_.results(segment_.first, segment_.last);
    std::vector<std::vector<ValueId>> parts(results.size());
    std::vector<Node> nodes;
    for (std::int64_t part = 0; part < count_; ++part) {
      first_ = finder_.batch() * part / count_;
      last_ = finder_.batch() * (part + 1) / count_;
      part_of_.assign(graph_.values.size(), no_value);
      for (const ValueId id : read) {
        const ValueId samples = add_part(id);
        auto node = slice_node(graph_, id, samples, first_, last_);
        if (!node) return false;
        nodes.push_back(std::move(*node));
      }
      for (std::size_t n = segment_.first; n <= segment_.last; ++n) nodes.push_back(copy(n));
      for (std::size_t r = 0; r < results.size(); ++r) parts[r].push_back(part_of(results[r]));
    }
    for (std::size_t r = 0; r < results.size(); ++r) {
      auto node = concat_node(std::move(parts[r]), results[r]);
      if (!node) return false;
      nodes.push_back(std::move(*node));
    }
    const auto at = [&](std::size_t n) {
      return graph_.nodes.begin() + static_cast<std::ptrdiff_t>(n);
    };
    graph_.nodes.erase(at(segment_.first), at(segment_.last + 1));
    graph_.nodes.insert(at(segment_.first), std::make_move_iterator(nodes.begin()),
                        std::make_move_iterator(nodes.end()));
    return true;
  }

 private:
  ValueId& part_of(ValueId id) { return part_of_[index(id)]; }

  ValueId add_part(ValueId id) {
    Type type = graph_[id].type;
    type.dims->front() = Dim(last_ - first_);
    const std::string hint = graph_[id].name + "_part";
    return part_of(id) = graph_.add_temporary(hint, std::move(type));
  }

  Node copy(std::size_t position) {
    Node node = graph_.nodes[position];
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (finder_.has_samples(graph_.nodes[position], i)) node.inputs[i] = part_of(node.inputs[i]);
    }
    node.outputs[0] = add_part(node.outputs[0]);
    return node;
  }

  Graph& graph_;
  const PartsFinder& finder_;
  Segment segment_;
  std::int64_t count_;      // of parts
  std::int64_t first_ = 0;  // samples of the part
  std::int64_t last_ = 0;
  std::vector<ValueId> part_of_;  // by value: the samples of the part
};

}  // namespace

bool computes_batch(const Node& node, const Graph& graph) {
  const ValueId y = node.outputs.empty() ? no_value : node.outputs[0];
  return y != no_value && batch_of(graph[y].type) > 1 && computes_samples(node, graph);
}

bool split_batch(Graph& graph, std::span<const ValueId> outside) {
  const std::vector<bool> flags = flags_of(outside, graph);
  order_nodes(graph, flags, {});
  if (graph.nodes.empty()) return false;
  const Lifetimes lives(graph, flags);
  const PartsFinder finder(graph, lives, flags);
  const std::uint64_t peak = lives.peak_bytes();
  // With fewer parts less is read again.
  for (std::int64_t parts = std::min(finder.batch(), max_parts); parts > 1; parts /= 2) {
    const Segment segment = finder.best(parts);
    if (segment.peak <= peak - peak / least_share_of_peak)
      return Splitter(graph, finder, segment, parts).run();
  }
  return false;
}

}  // namespace ondine::trainer
