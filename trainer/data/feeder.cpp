#include <algorithm>
#include <set>

#include <ondine/data.h>

#include "core/float_formats.h"
#include "core/message.h"
#include "core/out_of_memory.h"

namespace ondine {
namespace {

template <class From, class To>
To convert(From value) {
  constexpr bool pixel = std::is_same_v<From, std::uint8_t>;
  if constexpr (std::is_same_v<To, float16>) {
    return to_float16(static_cast<float>(value) / (pixel ? 255.0F : 1.0F));
  } else if constexpr (std::is_same_v<To, bfloat16>) {
    return to_bfloat16(static_cast<float>(value) / (pixel ? 255.0F : 1.0F));
  } else if constexpr (pixel && std::is_floating_point_v<To>) {
    return static_cast<To>(value) / To{255};
  } else {
    return static_cast<To>(value);
  }
}

using RowCopy = void (*)(const void* from, void* to, std::int64_t count);

template <class From, class To>
void copy_row(const void* from, void* to, std::int64_t count) {
  const auto* source = static_cast<const From*>(from);
  std::transform(source, source + count, static_cast<To*>(to), convert<From, To>);
}

template <class From>
RowCopy copy_to(DType to) {
  switch (to) {
    case DType::float32:
      return copy_row<From, float>;
    case DType::float64:
      return copy_row<From, double>;
    case DType::float16:
      return copy_row<From, float16>;
    case DType::bfloat16:
      return copy_row<From, bfloat16>;
    case DType::int32:
      return copy_row<From, std::int32_t>;
    case DType::int64:
      return copy_row<From, std::int64_t>;
    default:
      return nullptr;
  }
}

// nullptr when there is no conversion. Numbers with a fraction never become integers.
RowCopy find_copy(DType from, DType to) {
  if (is_float(from) && !is_float(to)) return nullptr;
  switch (from) {
    case DType::uint8:
      return copy_to<std::uint8_t>(to);
    case DType::int8:
      return copy_to<std::int8_t>(to);
    case DType::int16:
      return copy_to<std::int16_t>(to);
    case DType::uint16:
      return copy_to<std::uint16_t>(to);
    case DType::int32:
      return copy_to<std::int32_t>(to);
    case DType::int64:
      return copy_to<std::int64_t>(to);
    case DType::float32:
      return copy_to<float>(to);
    case DType::float64:
      return copy_to<double>(to);
    case DType::boolean:
      return copy_to<bool>(to);
    default:
      return nullptr;
  }
}

void copy_rows(const Tensor& array, std::span<const std::uint64_t> rows, Tensor& target) {
  const std::int64_t count = array.shape().size(1, array.shape().rank());
  const std::size_t from_bytes = static_cast<std::size_t>(count) * size_of(array.dtype());
  const std::size_t to_bytes = static_cast<std::size_t>(count) * size_of(target.dtype());
  const auto* from = static_cast<const std::byte*>(array.data());
  auto* to = static_cast<std::byte*>(target.mutable_data());
  const RowCopy copy = find_copy(array.dtype(), target.dtype());
  for (const std::uint64_t row : rows) {
    const std::byte* start = from + static_cast<std::size_t>(row) * from_bytes;
    if (array.dtype() == target.dtype()) {
      std::copy_n(start, from_bytes, to);
    } else {
      copy(start, to, count);
    }
    to += to_bytes;
  }
}

// The dims of one row as the input has them, when the array can give them.
std::optional<std::vector<std::int64_t>> row_dims(const PortInfo& input, const Tensor& array) {
  if (array.shape().empty()) return {};
  if (input.dtype == DType::string || array.dtype() == DType::string) return {};
  if (array.dtype() != input.dtype && find_copy(array.dtype(), input.dtype) == nullptr) return {};
  std::vector<std::int64_t> dims(array.shape().begin() + 1, array.shape().end());
  if (!input.dims || input.dims->empty()) {
    if (input.dims) return {};
    return dims;
  }
  const std::span<const std::int64_t> wanted = std::span(*input.dims).subspan(1);
  const bool same = std::equal(wanted.begin(), wanted.end(), dims.begin(), dims.end(),
                               [](std::int64_t a, std::int64_t b) { return a < 0 || a == b; });
  if (same) return dims;
  std::int64_t known = 1;
  std::ptrdiff_t open = 0;
  for (const std::int64_t extent : wanted) {
    if (extent < 0) ++open;
    if (extent > 0) known *= extent;
  }
  const std::int64_t elements = array.shape().size(1, array.shape().rank());
  if (open > 1 || known == 0 || elements % known != 0 || (open == 0 && elements != known)) {
    return {};
  }
  dims.assign(wanted.begin(), wanted.end());
  for (std::int64_t& extent : dims) {
    if (extent < 0) extent = elements / known;
  }
  return dims;
}

std::vector<std::int64_t> require_fit(const PortInfo& input, const Tensor& array) {
  auto dims = row_dims(input, array);
  if (!dims) {
    fail(ErrorCode::mismatch, "an array ", array.dtype(), array.shape(), " does not fit input ",
         quoted(input.name), " of type ", input.type);
  }
  return std::move(*dims);
}

std::string describe(const NamedValues& arrays) {
  std::string text;
  for (const auto& [name, array] : arrays) {
    text += (text.empty() ? "" : ", ") + quoted(name) + " " +
            cat(array.tensor().dtype(), array.tensor().shape());
  }
  return text;
}

}  // namespace

Feeder::Feeder(std::span<const PortInfo> inputs, const NamedValues& arrays, const ArrayMap& map) {
  guard_memory("read the data", [&] {
    const auto array_of = [&](std::string_view name) -> const Tensor* {
      for (const auto& [key, array] : arrays) {
        if (key == name) return &array.tensor();
      }
      return nullptr;
    };
    std::set<std::string, std::less<>> used;
    std::vector<const Tensor*> chosen(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      std::string name = inputs[i].name;
      for (const auto& [input, array] : map) {
        if (input != name) continue;
        if (array_of(array) == nullptr) {
          fail(ErrorCode::mismatch, "there is no array ", quoted(array),
               "; the data has: ", describe(arrays));
        }
        chosen[i] = array_of(array);
        used.insert(array);
      }
      if (chosen[i] == nullptr && (chosen[i] = array_of(name)) != nullptr) used.insert(name);
      if (chosen[i] != nullptr) require_fit(inputs[i], *chosen[i]);
    }
    for (const auto& [input, array] : map) {
      if (std::none_of(inputs.begin(), inputs.end(),
                       [&, &wanted = input](const PortInfo& one) { return one.name == wanted; })) {
        fail(ErrorCode::mismatch, "the model has no input ", quoted(input), " to map to");
      }
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (chosen[i] != nullptr || inputs[i].has_default) continue;
      std::vector<const NamedValue*> fitting;
      for (const NamedValue& one : arrays) {
        if (!used.contains(one.first) && row_dims(inputs[i], one.second.tensor())) {
          fitting.push_back(&one);
        }
      }
      if (fitting.size() != 1) {
        fail(ErrorCode::mismatch, fitting.empty() ? "no array fits" : "several arrays fit",
             " input ", quoted(inputs[i].name), " of type ", inputs[i].type,
             "; the data has: ", describe(arrays));
      }
      chosen[i] = &fitting[0]->second.tensor();
      used.insert(fitting[0]->first);
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (chosen[i] != nullptr) add(inputs[i], *chosen[i]);
    }
  });
}

void Feeder::add(const PortInfo& input, const Tensor& array) {
  std::vector<std::int64_t> dims = require_fit(input, array);
  const auto rows = static_cast<std::uint64_t>(array.shape()[0]);
  if (!sources_.empty() && rows != size_) {
    fail(ErrorCode::mismatch, "input ", quoted(feeds_[0].first), " has ", size_, " rows, input ",
         quoted(input.name), " has ", rows);
  }
  size_ = rows;
  if (input.dims && !input.dims->empty() && input.dims->front() >= 0) {
    fixed_batch_ = static_cast<std::uint64_t>(input.dims->front());
  }
  sources_.push_back({array, input.dtype, std::move(dims)});
  feeds_.emplace_back(input.name, Value());
}

std::span<const NamedValue> Feeder::take(std::span<const std::uint64_t> rows) {
  return guard_memory("take a batch", [&]() -> std::span<const NamedValue> {
    for (const std::uint64_t row : rows) {
      if (row >= size_) fail(ErrorCode::mismatch, "row ", row, " of ", size_);
    }
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      Shape shape{static_cast<std::int64_t>(rows.size())};
      for (const std::int64_t extent : sources_[i].row_dims) shape.push_back(extent);
      Value& feed = feeds_[i].second;
      if (!feed.is_tensor() || !(feed.tensor().shape() == shape)) {
        feed = Tensor(sources_[i].dtype, shape);
      }
      copy_rows(sources_[i].array, rows, feed.tensor());
    }
    return feeds_;
  });
}

std::vector<std::string> Feeder::inputs() const {
  return guard_memory("take a batch", [&] {
    std::vector<std::string> names;
    for (const NamedValue& feed : feeds_) names.push_back(feed.first);
    return names;
  });
}

}  // namespace ondine
