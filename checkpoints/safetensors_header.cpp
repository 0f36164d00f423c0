#include "checkpoints/safetensors_header.h"

#include <array>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "core/message.h"

namespace ondine {
namespace {

using Json = nlohmann::json;

constexpr std::string_view metadata_key = "__metadata__";

constexpr std::array<std::pair<DType, std::string_view>, 19> names{{
    {DType::boolean, "BOOL"},
    {DType::uint8, "U8"},
    {DType::int8, "I8"},
    {DType::float8e5m2, "F8_E5M2"},
    {DType::float8e4m3fn, "F8_E4M3"},
    {DType::float8e8m0, "F8_E8M0"},
    {DType::float8e4m3fnuz, "F8_E4M3FNUZ"},
    {DType::float8e5m2fnuz, "F8_E5M2FNUZ"},
    {DType::int16, "I16"},
    {DType::uint16, "U16"},
    {DType::float16, "F16"},
    {DType::bfloat16, "BF16"},
    {DType::int32, "I32"},
    {DType::uint32, "U32"},
    {DType::float32, "F32"},
    {DType::complex64, "C64"},
    {DType::float64, "F64"},
    {DType::int64, "I64"},
    {DType::uint64, "U64"},
}};

DType dtype_of_name(std::string_view name) {
  for (const auto& [dtype, spelling] : names) {
    if (spelling == name) return dtype;
  }
  fail(ErrorCode::unsupported, "element type ", quoted(name));
}

// A SAX parser: rejects unexpected JSON before storing it.
class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
  SafetensorsHeader take() { return std::move(header_); }

  bool null() override { refuse("null"); }
  bool boolean(bool) override { refuse("a boolean"); }
  bool number_integer(number_integer_t) override { refuse("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { refuse("a fraction"); }
  bool binary(binary_t&) override { refuse("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (position_ == Position::shape) {
      if (value > INT64_MAX) refuse("a number above 2^63");
      if (entry().shape.rank() == Shape::max_rank) {
        fail(ErrorCode::limit, "tensor ", quoted(entry().name), " has more than ", Shape::max_rank,
             " dims");
      }
      entry().shape.push_back(static_cast<std::int64_t>(value));
    } else if (position_ == Position::offsets && offsets_ < 2) {
      (offsets_++ == 0 ? entry().begin : entry().end) = value;
    } else {
      refuse("a number");
    }
    return true;
  }

  bool string(string_t& text) override {
    if (position_ == Position::metadata) {
      if (!header_.metadata.emplace(key_, std::move(text)).second) refuse("a duplicate key");
    } else if (position_ == Position::tensor && key_ == "dtype") {
      entry().dtype = dtype_of_name(text);
    } else {
      refuse("a string");
    }
    return true;
  }

  bool start_object(std::size_t) override {
    if (position_ == Position::outside) {
      position_ = Position::top;
    } else if (position_ == Position::top && key_ == metadata_key) {
      position_ = Position::metadata;
    } else if (position_ == Position::top) {
      position_ = Position::tensor;
      seen_.clear();
      offsets_ = 0;
      header_.entries.emplace_back().name = key_;
    } else {
      refuse("an object");
    }
    return true;
  }

  bool key(string_t& key) override {
    key_ = std::move(key);
    if (position_ == Position::top && !names_seen_.insert(key_).second) refuse("a duplicate key");
    if (position_ == Position::tensor && !seen_.insert(key_).second) refuse("a duplicate key");
    return true;
  }

  bool end_object() override {
    // The key is one of the three; other keys were rejected.
    if (position_ == Position::tensor && (seen_.size() != 3 || offsets_ != 2)) {
      refuse("a tensor without dtype, shape and two data_offsets");
    }
    position_ = position_ == Position::top ? Position::outside : Position::top;
    return true;
  }

  bool start_array(std::size_t) override {
    if (position_ == Position::tensor && key_ == "shape") {
      position_ = Position::shape;
    } else if (position_ == Position::tensor && key_ == "data_offsets") {
      position_ = Position::offsets;
    } else {
      refuse("an array");
    }
    return true;
  }

  bool end_array() override {
    position_ = Position::tensor;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    fail(ErrorCode::corrupt, "header is not JSON at its byte ", position);
  }

 private:
  enum class Position { outside, top, metadata, tensor, shape, offsets };

  [[noreturn]] void refuse(std::string_view what) {
    fail(ErrorCode::corrupt, "header has ", what, " at key ", quoted(key_));
  }
  SafetensorsEntry& entry() { return header_.entries.back(); }

  SafetensorsHeader header_;
  Position position_ = Position::outside;
  std::string key_;
  std::unordered_set<std::string> names_seen_;
  std::unordered_set<std::string> seen_;  // keys of the current tensor
  int offsets_ = 0;
};

std::string spelled(const std::string& text) {
  try {
    return Json(text).dump();
  } catch (const Json::exception&) {
    fail(ErrorCode::mismatch, "a name is not UTF-8");
  }
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += cat(text.empty() ? "" : ",", part);
  return text;
}

}  // namespace

std::string_view safetensors_name(DType dtype) noexcept {
  for (const auto& [candidate, spelling] : names) {
    if (candidate == dtype) return spelling;
  }
  return {};
}

// Built as text: a Json value allocates in its destructor.
std::string write_safetensors_header(const SafetensorsHeader& header) {
  std::map<std::string_view, std::string> members;
  if (!header.metadata.empty()) {
    std::vector<std::string> pairs;
    for (const auto& [key, value] : header.metadata) {
      pairs.push_back(cat(spelled(key), ":", spelled(value)));
    }
    members.emplace(metadata_key, cat("{", joined(pairs), "}"));
  }
  for (const SafetensorsEntry& entry : header.entries) {
    std::vector<std::string> dims;
    for (const std::int64_t dim : entry.shape) dims.push_back(std::to_string(dim));
    std::string text = cat(R"({"data_offsets":[)", entry.begin, ",", entry.end, R"(],"dtype":")",
                           safetensors_name(entry.dtype), R"(","shape":[)", joined(dims), "]}");
    if (entry.name == metadata_key || !members.emplace(entry.name, std::move(text)).second) {
      fail(ErrorCode::mismatch, "a tensor cannot have the name ", quoted(entry.name),
           ", it is taken");
    }
  }
  std::vector<std::string> all;
  for (const auto& [name, text] : members) {
    all.push_back(cat(spelled(std::string(name)), ":", text));
  }
  std::string text = cat("{", joined(all), "}");
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

SafetensorsHeader read_safetensors_header(std::string_view text) {
  if (!text.starts_with('{')) fail(ErrorCode::corrupt, "header does not begin with '{'");
  HeaderReader reader;
  Json::sax_parse(text.begin(), text.end(), &reader);
  return reader.take();
}

}  // namespace ondine
