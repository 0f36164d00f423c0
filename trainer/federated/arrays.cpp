#include "trainer/federated/arrays.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "core/digest.h"
#include "core/message.h"
#include "core/stream.h"
#include "graph/record/json_value.h"
#include "trainer/data/open_data.h"

namespace ondine::federated {
namespace {

using graph::JsonValue;

constexpr std::size_t chunk_bytes = std::size_t{5} << 20;
// A header of .npy with the longest shape.
constexpr std::uint64_t header_bytes = 65'536;

constexpr std::array<std::pair<DType, const char*>, 12> names{{{DType::float32, "float32"},
                                                               {DType::float64, "float64"},
                                                               {DType::float16, "float16"},
                                                               {DType::int8, "int8"},
                                                               {DType::int16, "int16"},
                                                               {DType::int32, "int32"},
                                                               {DType::int64, "int64"},
                                                               {DType::uint8, "uint8"},
                                                               {DType::uint16, "uint16"},
                                                               {DType::uint32, "uint32"},
                                                               {DType::uint64, "uint64"},
                                                               {DType::boolean, "bool"}}};

const JsonValue& member(const JsonValue& object, std::string_view name, JsonValue::Kind kind) {
  const JsonValue* const found =
      object.kind == JsonValue::Kind::object ? object.find(name) : nullptr;
  if (found == nullptr || found->kind != kind) {
    fail(ErrorCode::corrupt, "its description has no ", quoted(name));
  }
  return *found;
}

// A list of whole numbers from 0 on, as messages show it.
std::vector<std::int64_t> numbers(const JsonValue& list, std::string_view name) {
  std::vector<std::int64_t> result;
  for (const JsonValue& item : list.items) {
    if (item.kind != JsonValue::Kind::integer || item.integer < 0) {
      fail(ErrorCode::corrupt, "its ", quoted(name), " has an entry that is no whole number");
    }
    result.push_back(item.integer);
  }
  return result;
}

// `dtype` as NumPy has it.
void require_form(const std::string& dtype, std::span<const std::int64_t> dims,
                  const StateInfo& wanted) {
  if (dtype != numpy_name(wanted.dtype)) {
    fail(ErrorCode::mismatch, "it is of type ", quoted(dtype), ", the model's is ",
         numpy_name(wanted.dtype));
  }
  if (!std::equal(dims.begin(), dims.end(), wanted.shape.begin(), wanted.shape.end())) {
    std::string text;
    for (const std::int64_t dim : dims) text += (text.empty() ? "" : ", ") + std::to_string(dim);
    fail(ErrorCode::mismatch, "it has the shape ", quoted("[" + text + "]"), ", the model's has ",
         wanted.shape);
  }
}

void require_form(const JsonValue& description, const StateInfo& wanted) {
  const std::string& dtype = member(description, "dtype", JsonValue::Kind::text).text;
  require_form(dtype, numbers(member(description, "shape", JsonValue::Kind::list), "shape"),
               wanted);
  const std::string& form = member(description, "stype", JsonValue::Kind::text).text;
  if (form != "numpy.ndarray") {
    fail(ErrorCode::unsupported, "it is stored as ", quoted(form), ", not as numpy.ndarray");
  }
}

// The chunks one after the other.
std::shared_ptr<std::string> join_chunks(const Object& object, const JsonValue& description,
                                         std::uint64_t most, const FetchObject& fetch,
                                         MemoryBudget* budget) {
  auto bytes = std::make_shared<std::string>();
  const JsonValue& order = member(description, "arraychunk_ids", JsonValue::Kind::list);
  for (const std::int64_t index : numbers(order, "arraychunk_ids")) {
    if (static_cast<std::uint64_t>(index) >= object.children.size()) {
      fail(ErrorCode::corrupt, "it names chunk ", index, " of ", object.children.size());
    }
    const std::string& id = object.children[static_cast<std::size_t>(index)];
    const Object chunk = read_object(fetch(id), id, "ArrayChunk");
    if (chunk.body.size() > most - bytes->size()) {
      fail(ErrorCode::limit, "its chunks have more than ", most, " bytes");
    }
    if (budget != nullptr) budget->charge(chunk.body.size());
    *bytes += chunk.body;
  }
  return bytes;
}

template <class T>
std::size_t count_not_finite(const Tensor& tensor) {
  const auto values = tensor.values<T>();
  return static_cast<std::size_t>(std::count_if(values.begin(), values.end(), [](T value) {
    return !std::isfinite(static_cast<double>(value));
  }));
}

}  // namespace

std::vector<StateInfo> exchanged(const Model& model) {
  std::vector<StateInfo> weights = model.state();
  std::erase_if(weights, [](const StateInfo& one) { return one.role != StateRole::weight; });
  return weights;
}

std::string numpy_name(DType dtype) {
  const auto found =
      std::find_if(names.begin(), names.end(), [&](const auto& one) { return one.first == dtype; });
  return found == names.end() ? "" : found->second;
}

Tensor read_array(const std::string& id, const StateInfo& wanted, const FetchObject& fetch,
                  const ArrayReading& reading) {
  const std::uint64_t elements = static_cast<std::uint64_t>(wanted.shape.size());
  const std::uint64_t most = elements * size_of(wanted.dtype) + header_bytes;
  const Object object = read_object(fetch(id), id, "Array");
  // As many chunks as there may be, if each has at least 64 KiB.
  if (object.body.size() > header_bytes + most / 4096) {
    fail(ErrorCode::limit, "its description has ", object.body.size(), " bytes");
  }
  const JsonValue description = graph::parse_json(std::string(object.body));
  require_form(description, wanted);
  const std::shared_ptr<std::string> bytes =
      join_chunks(object, description, most, fetch, reading.budget.get());
  SharedSource source(bytes_of(*bytes), bytes);
  const Tensor array = read_npy(source, reading.limits);
  if (array.dtype() != wanted.dtype || !(array.shape() == wanted.shape)) {
    fail(ErrorCode::mismatch, "its file holds a ", array.dtype(), array.shape(),
         ", the model's is ", wanted.dtype, wanted.shape);
  }
  if (source.position() != source.size()) {
    fail(ErrorCode::corrupt, "its file has ", source.size() - source.position(),
         " bytes after the last element");
  }
  require_finite(array, "its file");
  return array;
}

void require_names(const std::vector<StateInfo>& wanted, std::set<std::string> names) {
  for (const StateInfo& one : wanted) {
    if (names.erase(one.name) == 0) {
      fail(ErrorCode::mismatch, "array ", quoted(one.name), " of the model is missing");
    }
  }
  if (names.empty()) return;
  fail(ErrorCode::mismatch, "array ", quoted(*names.begin()), " is none of the model's");
}

void require_array(const Value& array, const StateInfo& wanted) {
  if (!array.is_tensor()) fail(ErrorCode::mismatch, "it is no tensor");
  const Tensor& tensor = array.tensor();
  const std::string name = numpy_name(tensor.dtype());
  const Shape& shape = tensor.shape();
  require_form(name.empty() ? std::string(to_string(tensor.dtype())) : name,
               std::vector<std::int64_t>(shape.begin(), shape.end()), wanted);
  require_finite(tensor, "the array");
}

void require_finite(const Tensor& tensor, const std::string& name) {
  std::size_t count = 0;
  if (tensor.dtype() == DType::float32) count = count_not_finite<float>(tensor);
  if (tensor.dtype() == DType::float64) count = count_not_finite<double>(tensor);
  if (tensor.dtype() == DType::float16) {
    const auto halves = tensor.values<float16>();
    count = static_cast<std::size_t>(std::count_if(
        halves.begin(), halves.end(), [](float16 one) { return (one.bits & 0x7c00) == 0x7c00; }));
  }
  if (count != 0) {
    fail(ErrorCode::not_finite, count, " of the numbers of ", name, count == 1 ? " is" : " are",
         " NaN or infinite");
  }
}

fleet::Tree add_array(ObjectStore& to, const Tensor& array) {
  MemorySink sink;
  write_npy(sink, array);
  const std::string_view bytes(reinterpret_cast<const char*>(sink.bytes().data()),
                               sink.bytes().size());
  std::vector<fleet::Tree> chunks;
  JsonValue order = JsonValue::list();
  for (std::size_t at = 0; at < bytes.size(); at += chunk_bytes) {
    fleet::Tree chunk = to.add("ArrayChunk", {}, bytes.substr(at, chunk_bytes));
    // Equal chunks are one object.
    const auto found = std::find_if(chunks.begin(), chunks.end(),
                                    [&](const fleet::Tree& one) { return one.id == chunk.id; });
    order.items.push_back(JsonValue::of(std::int64_t{found - chunks.begin()}));
    if (found == chunks.end()) chunks.push_back(std::move(chunk));
  }
  JsonValue shape = JsonValue::list();
  for (const std::int64_t dim : array.shape()) shape.items.push_back(JsonValue::of(dim));
  JsonValue description = JsonValue::object();
  description.set("dtype", JsonValue::of(numpy_name(array.dtype())));
  description.set("shape", std::move(shape));
  description.set("stype", JsonValue::of("numpy.ndarray"));
  description.set("arraychunk_ids", std::move(order));
  return to.add("Array", std::move(chunks), graph::dump(description));
}

}  // namespace ondine::federated
