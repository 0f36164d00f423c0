#include "trainer/text/generate/cached_scores.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/message.h"
#include "core/to_doubles.h"

namespace ondine::text {
namespace {

constexpr std::int64_t least_room = 128;
constexpr std::int64_t share_of_room = 4;

// Tokens of a step of a long prompt, and of the two that are compared with one of both.
constexpr std::size_t longest_step = 256;
constexpr std::size_t compared_step = 8;

// Copies `count` places along the axis; both may be one tensor.
void copy_places(const Tensor& from, std::int64_t from_first, Tensor& to, std::int64_t to_first,
                 std::int64_t count, std::size_t axis) {
  const Shape& shape = from.shape();
  const auto outer = static_cast<std::size_t>(shape.size(0, axis));
  const auto place =
      static_cast<std::size_t>(shape.size(axis + 1, shape.rank())) * size_of(from.dtype());
  const auto from_stride = static_cast<std::size_t>(shape[axis]) * place;
  const auto to_stride = static_cast<std::size_t>(to.shape()[axis]) * place;
  const std::size_t bytes = static_cast<std::size_t>(count) * place;
  if (bytes == 0) return;
  const auto* source =
      static_cast<const std::byte*>(from.data()) + static_cast<std::size_t>(from_first) * place;
  auto* target =
      static_cast<std::byte*>(to.mutable_data()) + static_cast<std::size_t>(to_first) * place;
  for (std::size_t i = 0; i < outer; ++i) {
    std::memmove(target + i * to_stride, source + i * from_stride, bytes);
  }
}

Shape with_length(Shape shape, std::size_t axis, std::int64_t length) {
  shape[axis] = length;
  return shape;
}

// Whether numbers agree but for rounding, relative to the largest.
bool are_close(std::span<const double> a, std::span<const double> b, double tolerance) {
  double largest = 1;
  for (const double number : a) {
    if (std::isfinite(number)) largest = std::max(largest, std::abs(number));
  }
  return std::ranges::equal(
      a, b, [&](double x, double y) { return x == y || std::abs(x - y) <= tolerance * largest; });
}

double tolerance_of(DType dtype) {
  return dtype == DType::float32 || dtype == DType::float64 ? 1e-4 : 5e-3;
}

// A model that counts the places of its caches may refuse more than there are tokens, or several
// new ones after them.
bool is_refusal(const Error& error) {
  return error.code() == ErrorCode::mismatch || error.code() == ErrorCode::invalid_model;
}

Shape empty_shape(const CachePorts& cache, std::int64_t samples) {
  Shape shape(std::span<const std::int64_t>{});
  for (std::size_t axis = 0; axis < cache.past.dims->size(); ++axis) {
    shape.push_back(axis == cache.axis    ? 0
                    : axis == cache.batch ? samples
                                          : (*cache.past.dims)[axis]);
  }
  return shape;
}

}  // namespace

CachedScores::CachedScores(const DecoderCall& call) : call_(&call) {
  if (call.ports().mask && call.ports().positions) spare_ = Spare::behind;
  for (const CachePorts& cache : call.ports().caches) {
    caches_.emplace_back(Tensor(cache.past.dtype, empty_shape(cache, call.samples())));
  }
}

std::vector<double> CachedScores::next(std::span<const std::int64_t> tokens) {
  std::vector<double> scores;
  while (known_ < std::ssize(tokens)) {
    const auto fresh = tokens.subspan(static_cast<std::size_t>(known_));
    scores = step(fresh.first(next_piece(fresh)));
  }
  return scores;
}

std::size_t CachedScores::next_piece(std::span<const std::int64_t> tokens) {
  if ((*call_->ports().ids.dims)[1] == 1) return 1;
  if (tokens.size() <= longest_step) return tokens.size();
  if (!pieces_) pieces_ = known_ > 0 ? false : reads_in_pieces(tokens);
  return *pieces_ ? longest_step : tokens.size();
}

bool CachedScores::reads_in_pieces(std::span<const std::int64_t> tokens) const {
  const auto first = tokens.first(compared_step);
  const auto second = tokens.subspan(compared_step, compared_step);
  const Outcome whole = run({tokens.first(2 * compared_step)}, caches_);
  try {
    Outcome before = run({first}, caches_);
    std::vector<Value> caches;
    for (Tensor& present : before.presents) caches.emplace_back(std::move(present));
    const auto past = static_cast<std::int64_t>(compared_step);
    const Outcome found = run({second, past, past}, caches);
    caches.assign(whole.presents.begin(), whole.presents.end());
    return agree(whole.scores, caches, found);
  } catch (const Error& error) {
    if (!is_refusal(error)) throw;
    return false;
  }
}

CachedScores::Outcome CachedScores::run(const Step& step, const std::vector<Value>& caches) const {
  return taken(call_->run(step, caches), step, caches, false);
}

CachedScores::Outcome CachedScores::run_in_room(const Step& step,
                                                const std::vector<Value>& caches) const {
  if (!call_->has_fresh()) return run(step, caches);
  return taken(call_->run_for_fresh(step, caches), step, caches, true);
}

CachedScores::Outcome CachedScores::taken(Results results, const Step& step,
                                          const std::vector<Value>& caches, bool fresh) const {
  Outcome outcome{call_->scores(results, step), {}};
  const std::int64_t needed = (fresh ? 0 : step.room) + std::ssize(step.tokens);
  for (std::size_t i = 0; i < caches.size(); ++i) {
    const CachePorts& cache = call_->ports().caches[i];
    const std::string& name = fresh ? cache.fresh : cache.present;
    Tensor present = std::move(results[name]).tensor();
    const Shape expected = with_length(caches[i].tensor().shape(), cache.axis, needed);
    if (!(present.shape() == expected)) {
      fail(ErrorCode::mismatch, "output ", quoted(name), " is ", present.shape(), "; a cache of ",
           step.room, " and ", step.tokens.size(), " new tokens must be ", expected);
    }
    outcome.presents.push_back(std::move(present));
  }
  return outcome;
}

std::vector<double> CachedScores::step(std::span<const std::int64_t> tokens) {
  if (room_ > known_ && tokens.size() == 1) return step_in_room(tokens);
  if (room_ > 0) {
    caches_ = resized(caches_, known_, first_place(known_, room_), known_, 0);
    room_ = 0;
  }
  if (spare_ && tokens.size() == 1) return step_to_new_room(tokens);
  return step_exactly(tokens);
}

std::vector<double> CachedScores::step_exactly(std::span<const std::int64_t> tokens) {
  Outcome outcome = run({tokens, known_, known_}, caches_);
  for (std::size_t i = 0; i < caches_.size(); ++i) caches_[i] = std::move(outcome.presents[i]);
  known_ += std::ssize(tokens);
  return std::move(outcome.scores);
}

std::vector<double> CachedScores::step_in_room(std::span<const std::int64_t> tokens) {
  const Outcome outcome = run_in_room({tokens, known_, room_, *spare_}, caches_);
  keep_new(outcome.presents);
  ++known_;
  return outcome.scores;
}

// Keeps the last place of the presents, which has the new token.
void CachedScores::keep_new(const std::vector<Tensor>& presents) {
  for (std::size_t i = 0; i < caches_.size(); ++i) {
    const std::size_t axis = call_->ports().caches[i].axis;
    Tensor& cache = caches_[i].tensor();
    const std::int64_t first = first_place(known_, room_);
    if (first > 0) copy_places(cache, first, cache, first - 1, known_, axis);
    const std::int64_t last = presents[i].shape()[axis] - 1;
    copy_places(presents[i], last, cache, first > 0 ? room_ - 1 : known_, 1, axis);
  }
}

std::vector<double> CachedScores::step_to_new_room(std::span<const std::int64_t> tokens) {
  const std::int64_t before = known_;
  const std::int64_t room = before + std::max(least_room, before / share_of_room);
  const std::vector<Value> earlier = caches_;
  const std::vector<double> scores = step_exactly(tokens);
  while (spare_) {
    const std::vector<Value> padded = resized(earlier, before, 0, room, first_place(before, room));
    if (agrees({tokens, before, room, *spare_}, padded, scores)) {
      caches_ = resized(caches_, known_, 0, room, first_place(known_, room));
      room_ = room;
      break;
    }
    spare_ = *spare_ == Spare::behind ? std::optional(Spare::before) : std::nullopt;
  }
  return scores;
}

bool CachedScores::agrees(const Step& step, const std::vector<Value>& padded,
                          const std::vector<double>& scores) const {
  Outcome found;
  try {
    found = run_in_room(step, padded);
  } catch (const Error& error) {
    if (!is_refusal(error)) throw;
    return false;
  }
  return agree(scores, caches_, found);
}

bool CachedScores::agree(std::span<const double> scores, const std::vector<Value>& caches,
                         const Outcome& found) const {
  const double tolerance = tolerance_of(caches.front().tensor().dtype());
  if (!are_close(scores, found.scores, tolerance)) return false;
  for (std::size_t i = 0; i < caches.size(); ++i) {
    const std::size_t axis = call_->ports().caches[i].axis;
    const auto last_place = [&](const Tensor& cache) {
      Tensor place(cache.dtype(), with_length(cache.shape(), axis, 1));
      copy_places(cache, cache.shape()[axis] - 1, place, 0, 1, axis);
      return *to_doubles(place);
    };
    const Tensor& exact = caches[i].tensor();
    if (!are_close(last_place(exact), last_place(found.presents[i]), tolerance)) return false;
  }
  return true;
}

std::vector<Value> CachedScores::resized(const std::vector<Value>& caches, std::int64_t tokens,
                                         std::int64_t from_first, std::int64_t length,
                                         std::int64_t to_first) const {
  std::vector<Value> result;
  for (std::size_t i = 0; i < caches.size(); ++i) {
    const std::size_t axis = call_->ports().caches[i].axis;
    const Tensor& from = caches[i].tensor();
    Tensor to = call_->make_tensor(from.dtype(), with_length(from.shape(), axis, length));
    copy_places(from, from_first, to, to_first, tokens, axis);
    result.emplace_back(std::move(to));
  }
  return result;
}

}  // namespace ondine::text
