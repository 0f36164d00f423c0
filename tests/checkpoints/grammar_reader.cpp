#include "tests/checkpoints/grammar_reader.h"

#include <array>
#include <stdexcept>
#include <string_view>

#include "core/digest.h"

namespace ondine::test {
namespace {

constexpr std::size_t header_bytes = 128;
constexpr std::string_view magic = "\x89\x4f\x4e\x44\x43\x0d\x0a\x1a";

void require(bool rule, const std::string& text) {
  if (!rule) throw std::runtime_error(text);
}

std::string little_endian(std::uint64_t value, std::size_t width) {
  std::string out;
  for (std::size_t i = 0; i < width; ++i) out += static_cast<char>(value >> 8 * i & 255);
  return out;
}

std::uint64_t number_at(std::string_view bytes, std::size_t at, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = width; i-- > 0;)
    value = value << 8 | static_cast<std::uint8_t>(bytes[at + i]);
  return value;
}

// Bit by bit, polynomial 1EDC6F41 reflected.
std::uint32_t checksum(std::string_view bytes) {
  std::uint32_t crc = 0xffffffffU;
  for (const char c : bytes) {
    crc ^= static_cast<std::uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1U) != 0 ? 0x82f63b78U : 0U);
  }
  return ~crc;
}

std::string digest(std::string_view bytes) {
  const auto sum = sha256(bytes_of(bytes));
  return {reinterpret_cast<const char*>(sum.data()), sum.size()};
}

std::size_t padding(std::size_t position) { return (64 - position % 64) % 64; }

class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {}

  std::uint64_t natural() {
    const std::string_view digits = number();
    std::uint64_t value = 0;
    for (const char c : digits) {
      const auto digit = static_cast<std::uint64_t>(c - '0');
      require(value <= (UINT64_MAX - digit) / 10, "a number of 2^64 or more");
      value = value * 10 + digit;
    }
    return value;
  }
  std::int64_t integer() {
    separate();
    const bool negative = at_ < text_.size() && text_[at_] == '-';
    if (negative) ++at_;
    first_ = true;  // the sign and the digits are one token
    const std::uint64_t value = natural();
    require(value <= (std::uint64_t{1} << 63) - (negative ? 0 : 1), "a number of 2^63 or more");
    require(!negative || value != 0, "a zero with a sign");
    return negative ? static_cast<std::int64_t>(~value + 1) : static_cast<std::int64_t>(value);
  }
  std::string string() {
    const std::uint64_t length = natural();
    require(at_ < text_.size() && text_[at_] == ' ', "no space after a length");
    ++at_;
    require(length <= text_.size() - at_, "a length beyond the end");
    const std::string out(text_.substr(at_, length));
    at_ += length;
    return out;
  }
  template <class Read>
  auto list(Read read) {
    std::vector<decltype(read())> out;
    for (std::uint64_t n = natural(); n > 0; --n) out.push_back(read());
    return out;
  }
  void end() { require(text_.substr(at_) == "\n", "no single line feed at the end"); }

 private:
  // One space before every token but the first.
  void separate() {
    if (!first_) {
      require(at_ < text_.size() && text_[at_] == ' ', "no space between tokens");
      ++at_;
    }
    first_ = false;
  }
  std::string_view number() {
    separate();
    const std::size_t start = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    const std::string_view digits = text_.substr(start, at_ - start);
    require(!digits.empty(), "no digits");
    require(digits == "0" || digits[0] != '0', "a leading zero");
    return digits;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool first_ = true;
};

GrammarProperty read_property(Tokens& in) {
  GrammarProperty out;
  out.name = in.string();
  out.kind = in.natural();
  out.integer = in.integer();
  out.real = in.natural();
  out.text = in.string();
  require(out.kind <= 2, "a property of an unknown kind");
  require(out.kind == 0 || out.integer == 0, "an integer in another kind of property");
  require(out.kind == 1 || out.real == 0, "a real number in another kind of property");
  require(out.kind == 2 || out.text.empty(), "a text in another kind of property");
  return out;
}

GrammarTensor read_tensor(Tokens& in) {
  GrammarTensor out;
  out.name = in.string();
  out.role = in.string();
  out.dtype = in.natural();
  out.dims = in.list([&] { return in.integer(); });
  out.bytes = in.natural();
  out.crc = in.natural();
  return out;
}

void read_manifest(std::string_view text, GrammarFile& out) {
  Tokens in(text);
  out.library_version = in.string();
  out.producer = in.string();
  out.name = in.string();
  out.domain = in.string();
  out.model_version = in.integer();
  out.random_seed = in.natural();
  out.random_step = in.natural();
  out.step = in.natural();
  out.epoch = in.natural();
  out.algorithms = in.list([&] { return in.natural(); });
  for (auto& part : out.cursor) part = in.natural();
  out.properties = in.list([&] { return read_property(in); });
  out.tensors = in.list([&] { return read_tensor(in); });
  in.end();
}

std::string write_manifest(const GrammarFile& file) {
  std::string out;
  const auto token = [&](const std::string& text) { out += (out.empty() ? "" : " ") + text; };
  const auto number = [&](auto value) { token(std::to_string(value)); };
  const auto string = [&](const std::string& text) {
    number(text.size());
    token(text);
  };
  string(file.library_version);
  string(file.producer);
  string(file.name);
  string(file.domain);
  number(file.model_version);
  for (const auto value : {file.random_seed, file.random_step, file.step, file.epoch})
    number(value);
  number(file.algorithms.size());
  for (const auto steps : file.algorithms) number(steps);
  for (const auto part : file.cursor) number(part);
  number(file.properties.size());
  for (const GrammarProperty& property : file.properties) {
    string(property.name);
    number(property.kind);
    number(property.integer);
    number(property.real);
    string(property.text);
  }
  number(file.tensors.size());
  for (const GrammarTensor& tensor : file.tensors) {
    string(tensor.name);
    string(tensor.role);
    number(tensor.dtype);
    number(tensor.dims.size());
    for (const auto dim : tensor.dims) number(dim);
    number(tensor.bytes);
    number(tensor.crc);
  }
  return out + "\n";
}

}  // namespace

GrammarFile read_by_grammar(std::span<const std::byte> input) {
  const std::string_view bytes(reinterpret_cast<const char*>(input.data()), input.size());
  require(bytes.size() >= header_bytes, "shorter than a header");
  require(bytes.substr(0, 8) == magic, "not the magic");
  require(number_at(bytes, 8, 4) == 1, "not version 1");
  require(number_at(bytes, 12, 4) == 0, "bytes 12 to 15 are not zero");
  require(number_at(bytes, 16, 8) == bytes.size(), "not the length of the file");
  const std::uint64_t manifest = number_at(bytes, 24, 8);
  require(manifest <= bytes.size() - header_bytes, "a manifest beyond the end");
  GrammarFile out;
  out.version = number_at(bytes, 8, 4);
  out.fingerprint = bytes.substr(32, 32);
  require(bytes.substr(64, 32) == digest(bytes.substr(header_bytes, manifest)),
          "not the digest of the manifest");
  require(bytes.substr(96, 28) == std::string(28, '\0'), "bytes 96 to 123 are not zero");
  require(number_at(bytes, 124, 4) == checksum(bytes.substr(0, 124)), "not the header's checksum");
  read_manifest(bytes.substr(header_bytes, manifest), out);
  std::size_t at = header_bytes + manifest;
  for (GrammarTensor& tensor : out.tensors) {
    const std::size_t gap = padding(at);
    require(gap <= bytes.size() - at && tensor.bytes <= bytes.size() - at - gap,
            "elements beyond the end");
    require(bytes.substr(at, gap) == std::string(gap, '\0'), "padding that is not zero");
    tensor.elements = bytes.substr(at + gap, tensor.bytes);
    require(tensor.crc == checksum(tensor.elements), "not the checksum of elements");
    at += gap + tensor.bytes;
  }
  require(at == bytes.size(), "bytes after the last tensor");
  return out;
}

std::string write_by_grammar(const GrammarFile& file) {
  const std::string manifest = write_manifest(file);
  std::string body = manifest;
  for (const GrammarTensor& tensor : file.tensors) {
    body += std::string(padding(header_bytes + body.size()), '\0') + tensor.elements;
  }
  std::string out(magic);
  out += little_endian(file.version, 4) + std::string(4, '\0');
  out += little_endian(header_bytes + body.size(), 8) + little_endian(manifest.size(), 8);
  out += file.fingerprint + digest(manifest) + std::string(28, '\0');
  out += little_endian(checksum(out), 4);
  return out + body;
}

}  // namespace ondine::test
