#include "trainer/cluster/sharded_step.h"

#include <algorithm>
#include <cmath>

#include "core/float_formats.h"
#include "core/message.h"
#include "core/out_of_memory.h"
#include "graph/training/prepare/writer.h"
#include "graph/training/synchronize.h"

namespace ondine::cluster {
namespace {

constexpr const char* what = "take a training step in micro-shards";

bool is_half(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

template <class From, class To, class Convert>
void scale(const Tensor& from, To weight, To* to, Convert convert) {
  for (const From value : from.values<From>()) *to++ = convert(value) * weight;
}

template <class T>
bool all_finite(const T* values, std::size_t count) {
  return std::all_of(values, values + count, [](T value) { return std::isfinite(value); });
}

bool has(std::span<const NamedValue> values, const std::string& name) {
  return std::any_of(values.begin(), values.end(),
                     [&](const NamedValue& one) { return one.first == name; });
}

// Feeds that the part of a step reads, and present defaults of the step, such as a learning rate.
NamedValues read_by(const trainer::Function& part, const trainer::Function& step,
                    std::span<const NamedValue> feeds) {
  NamedValues result;
  for (const NamedValue& feed : feeds) {
    const auto& names = part.input_names;
    if (std::find(names.begin(), names.end(), feed.first) != names.end()) result.push_back(feed);
  }
  for (std::size_t i = 0; i < part.inputs.size(); ++i) {
    const std::string& name = part.input_names[i];
    if (!part.inputs[i].declared || !part.inputs[i].fallback->defined() || has(result, name)) {
      continue;
    }
    const auto at = std::find(step.input_names.begin(), step.input_names.end(), name);
    if (at == step.input_names.end()) continue;
    const auto index = static_cast<std::size_t>(at - step.input_names.begin());
    result.emplace_back(name, *step.inputs[index].fallback);
  }
  return result;
}

const graph::Type& type_of(const trainer::Function& function, const std::string& output) {
  const auto found =
      std::find_if(function.outputs.begin(), function.outputs.end(),
                   [&](const trainer::NamedOutput& one) { return one.name == output; });
  return (*function.graph)[found->value].type;
}

}  // namespace

// Records which numbers of a micro-shard are there.
class ShardedStep::Arrivals {
 public:
  Arrivals(const ShardedStep& step, Progress* progress)
      : step_(&step),
        progress_(progress),
        is_there_(step.places_.size()),
        gradients_(progress == nullptr ? std::vector<std::size_t>() : step.gradient_places()) {}

  void add(std::size_t place) {
    if (progress_ == nullptr) return;
    const auto found = std::lower_bound(gradients_.begin(), gradients_.end(), place);
    if (found != gradients_.end() && *found == place) {
      progress_->order.push_back(static_cast<std::size_t>(found - gradients_.begin()));
    }
    is_there_[place] = true;
    while (next_ < gradients_.size() && is_there_[gradients_[next_]]) ++next_;
    if (next_ > 0) progress_->computed(step_->gradient_ends_[next_ - 1]);
  }

 private:
  const ShardedStep* step_;
  Progress* progress_;
  std::vector<bool> is_there_;
  std::vector<std::size_t> gradients_;
  std::size_t next_ = 0;  // the first gradient that is not there
};

ShardedStep::ShardedStep(Model& model, std::size_t algorithm, std::span<const std::string> rows,
                         std::span<const std::string> fetched, const graph::MeanWeights& weights,
                         bool synchronized)
    : model_(&model), algorithm_(algorithm) {
  guard_memory(what, [&] {
    auto& impl = ModelAccess::impl(model);
    impl.require_algorithm(algorithm);
    graph::CutStep cut = graph::cut_step(impl.def, algorithm, rows, fetched, weights);
    if (synchronized) graph::synchronize_statistics(cut.rows.model);
    rows_ = trainer::assemble_part(cut.rows, {}, impl.functions, impl.variables(), impl.options);
    std::stable_partition(cut.values.begin(), cut.values.end(), [](const graph::CutValue& value) {
      return value.kind != graph::CutKind::gradient;
    });
    for (const graph::CutValue& value : cut.values) place(value, type_of(rows_, value.name));
    counts_ = cut.counts;
    losses_ = cut.losses;
    numbers_ = losses_;
    for (const graph::CutValue& value : cut.values) {
      if (value.kind == graph::CutKind::number) numbers_.push_back(value.name);
    }
    for (const graph::CutValue& value : cut.values) names_.push_back(value.name);
    for (const std::string& loss : losses_) {
      if (std::find(names_.begin(), names_.end(), loss) == names_.end()) names_.push_back(loss);
    }
    handles_infinities_ = cut.handles_infinities;
    set_types(cut.update.model.graph);
    update_ = trainer::assemble_part(cut.update, impl.def.training[algorithm].update_binding,
                                     impl.functions, impl.variables(), impl.options);
  });
}

std::vector<std::size_t> ShardedStep::gradient_places() const {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Place& place = places_[i];
    const bool is_gradient = place.value.kind == graph::CutKind::gradient;
    if (is_gradient && place.dtype != DType::float64) result.push_back(i);
  }
  return result;
}

void ShardedStep::reorder_gradients(std::span<const std::size_t> order) {
  const std::vector<std::size_t> own = gradient_places();
  const std::vector<Place> places = places_;
  const std::vector<std::string> names = names_;
  std::size_t floats = first_gradient_;
  for (std::size_t i = 0; i < own.size(); ++i) {
    places_[own[i]] = places[own[order[i]]];
    places_[own[i]].first = floats;
    names_[own[i]] = names[own[order[i]]];
    floats += static_cast<std::size_t>(places_[own[i]].shape.size());
    gradient_ends_[i] = floats - first_gradient_;
  }
}

bool ShardedStep::counts_rows() const noexcept {
  return std::all_of(places_.begin(), places_.end(),
                     [](const Place& place) { return place.weight == by_rows; });
}

void ShardedStep::place(const graph::CutValue& value, const graph::Type& type) {
  const char* const needed = "; micro-shards are averaged, which needs floating point numbers ";
  const auto refuse = [&](const std::string& why, const char* which) {
    fail(ErrorCode::unsupported, "the update needs ", quoted(value.name), " of the rows, ", why,
         needed, which);
  };
  if (!type.is_tensor() ||
      (type.dtype != DType::float32 && type.dtype != DType::float64 && !is_half(type.dtype))) {
    refuse("a " + graph::to_string(type), "of at most 64 bits");
  }
  const auto shape = type.shape();
  if (!shape) refuse("whose shape depends on them", "of a fixed shape");
  if (value.kind == graph::CutKind::number && shape->size() != 1) {
    refuse("which has shape " + shape->to_string(),
           "that are derivatives, take the place of a state variable or have one element");
  }
  std::size_t& count = type.dtype == DType::float64 ? doubles_ : floats_;
  places_.push_back({value, type.dtype, *shape, count});
  if (!value.weight.empty()) {
    const auto found = std::find_if(places_.begin(), places_.end(), [&](const Place& one) {
      return one.value.name == value.weight;
    });
    places_.back().weight = static_cast<std::size_t>(found - places_.begin());
  }
  count += static_cast<std::size_t>(shape->size());
  if (value.kind != graph::CutKind::gradient) {
    first_gradient_ = floats_;
  } else if (type.dtype != DType::float64) {
    gradient_ends_.push_back(floats_ - first_gradient_);
  }
}

void ShardedStep::set_types(graph::GraphDef& update) const {
  for (graph::ValueDef& input : update.inputs) {
    const auto found = std::find_if(places_.begin(), places_.end(), [&](const Place& place) {
      return place.value.name == input.name;
    });
    if (found == places_.end()) continue;
    input.type = graph::tensor_type(found->dtype, graph::to_dim_defs(found->shape));
  }
}

Numbers ShardedStep::zeros() const {
  return {std::vector<float>(floats_), std::vector<double>(doubles_)};
}

double ShardedStep::number_at(const Place& place, const Numbers& numbers) {
  return place.dtype == DType::float64 ? numbers.doubles[place.first]
                                       : static_cast<double>(numbers.floats[place.first]);
}

double ShardedStep::weight_of(std::size_t index, double by_row, const Numbers& numbers) const {
  const Place& place = places_[index];
  if (place.weight == by_rows) return by_row;
  return place.is_weight(index) ? 1 : number_at(places_[place.weight], numbers);
}

void ShardedStep::make_means(Numbers& sum) const {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Place& place = places_[i];
    if (place.weight == by_rows || place.is_weight(i)) continue;
    const double weight = number_at(places_[place.weight], sum);
    if (weight == 0) continue;
    const auto count = static_cast<std::size_t>(place.shape.size());
    const auto divide = [&](auto* first, auto by) {
      for (std::size_t k = 0; k < count; ++k) first[k] /= by;
    };
    if (place.dtype == DType::float64) {
      divide(sum.doubles.data() + place.first, weight);
    } else {
      divide(sum.floats.data() + place.first, static_cast<float>(weight));
    }
  }
}

void ShardedStep::compute(std::span<const NamedValue> feeds, const RowRange& rows, double weight,
                          Numbers& to, Progress* progress) const {
  guard_memory(what, [&] {
    auto& impl = ModelAccess::impl(*model_);
    const auto scope = impl.use(trainer::Use::read, what);
    const NamedValues read = read_by(rows_, impl.require_algorithm(algorithm_).step, feeds);
    Arrivals arrivals(*this, progress);
    impl.run_rows(
        rows_, read, names_, numbers_, rows,
        [&](std::size_t result, const Tensor& value) {
          require_one_loss(names_[result], value);
          if (result >= places_.size()) return;
          take(places_[result], value, weight_of(result, weight, to), to);
          arrivals.add(result);
        },
        progress != nullptr);
  });
}

// A derivative of several elements is that of their sum.
void ShardedStep::require_one_loss(const std::string& name, const Tensor& value) const {
  if (value.size() == 1 || std::find(losses_.begin(), losses_.end(), name) == losses_.end()) return;
  fail(ErrorCode::unsupported, "the loss ", quoted(name), " has shape ", value.shape(),
       ", whose derivative is that of a sum: micro-shards are averaged, which needs a loss that is "
       "a mean");
}

void ShardedStep::take(const Place& place, const Tensor& value, double weight, Numbers& to) {
  if (value.dtype() != place.dtype || value.shape() != place.shape) {
    fail(ErrorCode::mismatch, quoted(place.value.name), " has shape ", value.shape(), ", not ",
         place.shape);
  }
  if (weight == 0) {  // of a mean over nothing, which may be no number
    const auto count = static_cast<std::size_t>(place.shape.size());
    if (place.dtype == DType::float64) {
      std::fill_n(to.doubles.data() + place.first, count, 0.0);
    } else {
      std::fill_n(to.floats.data() + place.first, count, 0.0F);
    }
    return;
  }
  if (value.dtype() == DType::float64) {
    scale<double>(value, weight, to.doubles.data() + place.first, [](double x) { return x; });
    return;
  }
  float* const first = to.floats.data() + place.first;
  const auto factor = static_cast<float>(weight);
  const auto convert = [](auto x) { return to_float(x); };
  if (value.dtype() == DType::float32) {
    scale<float>(value, factor, first, [](float x) { return x; });
  } else if (value.dtype() == DType::float16) {
    scale<float16>(value, factor, first, convert);
  } else {
    scale<bfloat16>(value, factor, first, convert);
  }
}

void ShardedStep::require_finite(const Numbers& means) const {
  if (handles_infinities_) return;
  for (const Place& place : places_) {
    const auto count = static_cast<std::size_t>(place.shape.size());
    const bool finite = place.dtype == DType::float64
                            ? all_finite(means.doubles.data() + place.first, count)
                            : all_finite(means.floats.data() + place.first, count);
    if (finite) continue;
    const std::string by =
        place.value.x.empty() ? std::string() : cat(", the derivative by ", quoted(place.value.x));
    fail(ErrorCode::not_finite, quoted(place.value.name), by,
         ", has elements that are not finite after the sum over the micro-shards");
  }
}

// Numbers of their own type stay where they are.
Tensor ShardedStep::tensor_at(const Place& place, const Numbers& means) {
  const float* const floats = means.floats.data() + place.first;
  if (place.dtype == DType::float32) return Tensor::wrap(place.dtype, place.shape, floats);
  if (place.dtype == DType::float64) {
    return Tensor::wrap(place.dtype, place.shape, means.doubles.data() + place.first);
  }
  Tensor result(place.dtype, place.shape);
  const auto round = [&](auto out, auto convert) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = convert(floats[i]);
  };
  if (place.dtype == DType::float16) {
    round(result.mutable_values<float16>(), [](float x) { return to_float16(x); });
  } else {
    round(result.mutable_values<bfloat16>(), [](float x) { return to_bfloat16(x); });
  }
  return result;
}

void ShardedStep::update(const Numbers& means, std::uint64_t rows,
                         std::span<const NamedValue> feeds, std::span<NamedValue> results) const {
  guard_memory(what, [&] {
    auto& impl = ModelAccess::impl(*model_);
    const auto scope = impl.use(trainer::Use::write, what);
    NamedValues read = read_by(update_, impl.require_algorithm(algorithm_).step, feeds);
    for (const Place& place : places_) {
      read.emplace_back(place.value.name, tensor_at(place, means));
    }
    for (const graph::RowCount& count : counts_) {
      Tensor number(DType::int64, count.shape);
      number.mutable_values<std::int64_t>()[0] = static_cast<std::int64_t>(rows);
      read.emplace_back(count.name, std::move(number));
    }
    impl.run_step(update_, read, algorithm_, results);
  });
}

}  // namespace ondine::cluster
