#include "trainer/plan/place/streaming.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "trainer/plan/inputs.h"
#include "trainer/plan/plan.h"

namespace ondine::trainer {
namespace {

using namespace graph;  // NOLINT

// Smaller constants share pages with too many others.
constexpr std::size_t least_streamed = std::size_t{64} << 10;

// How far the system reads ahead of the node that runs.
constexpr std::uint64_t announced_bytes = std::uint64_t{16} << 20;

class StreamFinder {
 public:
  StreamFinder(const Plan& plan, std::span<const std::shared_ptr<const MappedFile>> files)
      : plan_(&plan), files_(files), values_(plan.buffers.size(), 0) {
    for (const std::size_t buffer : plan.buffer_of) {
      if (buffer != no_buffer) ++values_[buffer];
    }
  }

  std::vector<StreamedConstant> run() {
    std::vector<std::size_t> constant_of(plan_->buffers.size(), none);
    for (std::size_t i = 0; i < plan_->graph.values.size(); ++i) {
      const Tensor& tensor = plan_->graph.values[i].constant;
      const std::size_t buffer = plan_->buffer_of[i];
      if (buffer != no_buffer && tensor.defined()) constant_of[buffer] = find(tensor, buffer);
    }
    for (const ValueId id : plan_->graph.outputs) exclude_copy(constant_of[buffer_of(id)]);
    for (std::size_t i = 0; i < plan_->nodes.size(); ++i) {
      for_each_input(*plan_->nodes[i].node, [&](ValueId id) {
        const std::size_t constant = constant_of[buffer_of(id)];
        if (constant == none) return;
        // Kernels that are bound in the call ask tensors for their data.
        if (plan_->nodes[i].dynamic) exclude_copy(constant);
        std::vector<std::uint32_t>& readers = found_[constant].readers;
        if (readers.empty() || readers.back() != i)
          readers.push_back(static_cast<std::uint32_t>(i));
      });
    }
    std::erase_if(found_,
                  [](const auto& constant) { return constant.readers.empty() || !constant.file; });
    return std::move(found_);
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  std::size_t buffer_of(ValueId id) const { return plan_->buffer_of[static_cast<std::size_t>(id)]; }

  std::shared_ptr<const MappedFile> file_of(std::span<const std::byte> bytes) const {
    for (const auto& file : files_) {
      if (file->maps(bytes)) return file;
    }
    return nullptr;
  }

  // The index of the constant; none where it is not streamed.
  std::size_t find(const Tensor& tensor, std::size_t buffer) {
    if (tensor.dtype() == DType::string || tensor.bytes() < least_streamed) return none;
    StreamedConstant constant;
    constant.copy = deferred_elements(tensor);
    // A view of a copy finds its memory without asking for it.
    const bool viewed = values_[buffer] > 1;
    if (constant.copy != nullptr && (constant.copy->computed() || viewed)) return none;
    constant.stored = constant.copy != nullptr
                          ? constant.copy->source()
                          : std::span(static_cast<const std::byte*>(tensor.data()), tensor.bytes());
    constant.file = file_of(constant.stored);
    if (!constant.file) return none;
    constant.tensor = tensor;
    const void* memory = constant.copy != nullptr ? constant.copy->memory() : tensor.data();
    const auto [known, is_new] = by_memory_.emplace(memory, found_.size());
    if (is_new) found_.push_back(std::move(constant));
    return known->second;
  }

  void exclude_copy(std::size_t constant) {
    if (constant != none && found_[constant].copy != nullptr) found_[constant].file = nullptr;
  }

  const Plan* plan_;
  std::span<const std::shared_ptr<const MappedFile>> files_;
  std::vector<int> values_;  // by buffer: how many lie in it
  std::unordered_map<const void*, std::size_t> by_memory_;
  std::vector<StreamedConstant> found_;
};

// Constants that each node reads.
std::vector<std::vector<std::uint32_t>> read_by_node(std::span<const StreamedConstant> constants,
                                                     std::size_t nodes) {
  std::vector<std::vector<std::uint32_t>> read(nodes);
  for (std::size_t c = 0; c < constants.size(); ++c) {
    for (const std::uint32_t node : constants[c].readers) {
      read[node].push_back(static_cast<std::uint32_t>(c));
    }
  }
  return read;
}

class Scheduler {
 public:
  Scheduler(std::vector<StreamedConstant> constants, std::size_t nodes, std::uint64_t room)
      : read_(read_by_node(constants, nodes)),
        next_(constants.size(), 0),
        held_(constants.size(), false),
        room_(room) {
    out_.constants = std::move(constants);
  }

  Streaming run() {
    for (std::size_t node = 0; node < read_.size(); ++node) {
      for (const std::uint32_t c : read_[node]) forget_next(c);
      make_room(node);
      for (const std::uint32_t c : read_[node]) {
        if (!held_[c]) hold(c, node);
      }
      for (const std::uint32_t c : read_[node]) {
        if (++next_[c] == out_.constants[c].readers.size()) {
          drop(c, node + 1);
        } else {
          by_next_.emplace(out_.constants[c].readers[next_[c]], c);
        }
      }
    }
    announce();
    std::ranges::stable_sort(out_.events, {}, [](const StreamEvent& event) {
      return std::pair(event.node, event.kind);
    });
    return std::move(out_);
  }

 private:
  void forget_next(std::uint32_t c) {
    if (held_[c]) by_next_.erase({out_.constants[c].readers[next_[c]], c});
  }

  void make_room(std::size_t node) {
    std::uint64_t needed = 0;
    for (const std::uint32_t c : read_[node]) needed += held_[c] ? 0 : out_.constants[c].bytes();
    while (resident_ + needed > room_ && !by_next_.empty()) {
      const auto last = std::prev(by_next_.end());
      drop(last->second, node);
      by_next_.erase(last);
    }
  }

  void add(StreamEvent::Kind kind, std::uint32_t constant, std::size_t node) {
    out_.events.push_back({static_cast<std::uint32_t>(node), constant, kind});
  }

  void hold(std::uint32_t c, std::size_t node) {
    held_[c] = true;
    resident_ += out_.constants[c].bytes();
    out_.resident_bytes = std::max(out_.resident_bytes, resident_);
    add(StreamEvent::Kind::hold, c, node);
    holds_.emplace_back(node, c);
  }

  void drop(std::uint32_t c, std::size_t node) {
    held_[c] = false;
    resident_ -= out_.constants[c].bytes();
    add(StreamEvent::Kind::drop, c, node);
  }

  // Each constant at least one ahead of its turn.
  void announce() {
    std::size_t announced = 0;
    std::uint64_t ahead = 0;  // bytes of those announced that are not held
    for (std::size_t i = 0; i < holds_.size(); ++i) {
      while (announced < holds_.size() && (announced <= i + 1 || ahead < announced_bytes)) {
        const std::uint32_t c = holds_[announced++].second;
        ahead += out_.constants[c].bytes();
        add(StreamEvent::Kind::announce, c, holds_[i].first);
      }
      ahead -= out_.constants[holds_[i].second].bytes();
    }
  }

  std::vector<std::vector<std::uint32_t>> read_;
  std::vector<std::size_t> next_;  // by constant: how many of its readers ran
  std::vector<bool> held_;         // by constant
  std::uint64_t room_;
  std::uint64_t resident_ = 0;
  std::set<std::pair<std::uint32_t, std::uint32_t>> by_next_;  // next reader, constant held
  std::vector<std::pair<std::size_t, std::uint32_t>> holds_;   // node, constant
  Streaming out_;
};

}  // namespace

std::vector<StreamedConstant> find_streamed(
    const Plan& plan, std::span<const std::shared_ptr<const MappedFile>> files) {
  return files.empty() ? std::vector<StreamedConstant>() : StreamFinder(plan, files).run();
}

std::uint64_t bytes_of(std::span<const StreamedConstant> constants) noexcept {
  std::uint64_t bytes = 0;
  for (const StreamedConstant& constant : constants) bytes += constant.bytes();
  return bytes;
}

std::uint64_t least_bytes(std::span<const StreamedConstant> constants, std::size_t nodes) {
  std::vector<std::uint64_t> bytes(nodes);
  for (const StreamedConstant& constant : constants) {
    for (const std::uint32_t node : constant.readers) bytes[node] += constant.bytes();
  }
  return bytes.empty() ? 0 : *std::ranges::max_element(bytes);
}

Streaming stream(std::vector<StreamedConstant> constants, std::size_t nodes, std::uint64_t room) {
  return Scheduler(std::move(constants), nodes, room).run();
}

}  // namespace ondine::trainer
