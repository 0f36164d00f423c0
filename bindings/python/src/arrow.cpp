// Tables of Arrow as .csv files, which the library reads as any other table.
#include "arrow.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <memory>
#include <string_view>

#include "calls.h"

namespace ondine::python {
namespace {

template <class Struct>
struct Release {
  void operator()(Struct* one) const noexcept {
    if (one->release != nullptr) one->release(one);
    delete one;
  }
};
using Schema = std::unique_ptr<ArrowSchema, Release<ArrowSchema>>;
using Array = std::unique_ptr<ArrowArray, Release<ArrowArray>>;

bool bit(const void* bits, std::int64_t at) {
  return (static_cast<const std::uint8_t*>(bits)[at / 8] >> (at % 8) & 1) != 0;
}

template <class Number>
Number element(const ArrowArray& array, std::int64_t at) {
  Number value;
  std::memcpy(&value,
              static_cast<const std::byte*>(array.buffers[1]) + at * std::int64_t{sizeof(Number)},
              sizeof(Number));
  return value;
}

double half(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  double value =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  if (exponent == 31) value = fraction == 0 ? HUGE_VAL : std::nan("");
  return (bits >> 15) != 0 ? -value : value;
}

// A field of a .csv file.
class Field {
 public:
  explicit Field(std::string& line) : line_(line) {}

  void missing() { line_ += "\"\""; }
  template <class Number>
  void number(Number value) {
    char digits[64];
    const auto end = std::to_chars(digits, digits + sizeof(digits), value).ptr;
    line_.append(digits, end);
  }
  void text(std::string_view text) {
    line_ += '"';
    for (const char c : text) {
      if (c == '"') line_ += '"';
      line_ += c;
    }
    line_ += '"';
  }

 private:
  std::string& line_;
};

// A column of one type; `at` counts from the start of the buffers, with the array's offset.
class Column {
 public:
  explicit Column(const ArrowSchema& schema) : name_(schema.name == nullptr ? "" : schema.name) {
    const ArrowSchema& values = schema.dictionary == nullptr ? schema : *schema.dictionary;
    format_ = values.format;
    if (schema.dictionary != nullptr) index_ = schema.format;
    const std::string_view known[] = {"n", "b", "c", "C", "s", "S", "i", "I",
                                      "l", "L", "e", "f", "g", "u", "U", "vu"};
    for (const std::string_view one : known) {
      if (format_ == one) return;
    }
    throw nb::type_error(("column '" + name_ + "' is of Arrow's type '" + format_ +
                          "'; a table holds numbers, truth values and texts: convert or drop it")
                             .c_str());
  }

  const std::string& name() const noexcept { return name_; }

  void write(const ArrowArray& array, std::int64_t row, Field field) const {
    const std::int64_t at = array.offset + row;
    if (format_ == "n" || is_missing(array, at)) return field.missing();
    if (index_.empty()) return write_value(array, at, field);
    const std::int64_t index = integer(array, at, index_[0]);
    const ArrowArray& values = *array.dictionary;
    const std::int64_t there = values.offset + index;
    if (is_missing(values, there)) return field.missing();
    write_value(values, there, field);
  }

 private:
  static bool is_missing(const ArrowArray& array, std::int64_t at) {
    return array.null_count != 0 && array.n_buffers > 0 && array.buffers[0] != nullptr &&
           !bit(array.buffers[0], at);
  }

  static std::int64_t integer(const ArrowArray& array, std::int64_t at, char format) {
    switch (format) {
      case 'c':
        return element<std::int8_t>(array, at);
      case 'C':
        return element<std::uint8_t>(array, at);
      case 's':
        return element<std::int16_t>(array, at);
      case 'S':
        return element<std::uint16_t>(array, at);
      case 'i':
        return element<std::int32_t>(array, at);
      case 'I':
        return element<std::uint32_t>(array, at);
      default:
        return element<std::int64_t>(array, at);
    }
  }

  void write_value(const ArrowArray& array, std::int64_t at, Field field) const {
    switch (format_[0]) {
      case 'b':
        return field.number(bit(array.buffers[1], at) ? 1 : 0);
      case 'L':
        return field.number(element<std::uint64_t>(array, at));
      case 'e':
        return field.number(half(element<std::uint16_t>(array, at)));
      case 'f':  // as a double: with the digits of a float it would be another number
        return field.number(static_cast<double>(element<float>(array, at)));
      case 'g':
        return field.number(element<double>(array, at));
      case 'u':
        return write_text(array, element<std::int32_t>(array, at),
                          element<std::int32_t>(array, at + 1), field);
      case 'U':
        return write_text(array, element<std::int64_t>(array, at),
                          element<std::int64_t>(array, at + 1), field);
      case 'v':
        return write_view(array, at, field);
      default:
        return field.number(integer(array, at, format_[0]));
    }
  }

  void write_text(const ArrowArray& array, std::int64_t begin, std::int64_t end,
                  Field field) const {
    write_text(
        {static_cast<const char*>(array.buffers[2]) + begin, static_cast<std::size_t>(end - begin)},
        field);
  }

  // Sixteen bytes: the length, and up to twelve letters or four, a buffer and a place in it.
  void write_view(const ArrowArray& array, std::int64_t at, Field field) const {
    const char* const view = static_cast<const char*>(array.buffers[1]) + 16 * at;
    std::int32_t parts[4];
    std::memcpy(parts, view, sizeof(parts));
    const char* const letters =
        parts[0] <= 12 ? view + 4
                       : static_cast<const char*>(array.buffers[2 + parts[2]]) + parts[3];
    write_text({letters, static_cast<std::size_t>(parts[0])}, field);
  }

  void write_text(std::string_view text, Field field) const {
    if (text.find('\0') != std::string_view::npos) {
      throw nb::value_error(("column '" + name_ + "' has a text with a character U+0000").c_str());
    }
    field.text(text);
  }

  std::string name_;
  std::string format_;
  std::string index_;  // type of positions in a dictionary; empty: there is none
};

void require(ArrowArrayStream& stream, int status) {
  if (status == 0) return;
  const char* const why = stream.get_last_error(&stream);
  throw nb::value_error(why == nullptr ? "the Arrow stream failed" : why);
}

std::vector<Column> columns_of(ArrowArrayStream& stream) {
  Schema schema(new ArrowSchema{});
  require(stream, stream.get_schema(&stream, schema.get()));
  if (std::string_view(schema->format) != "+s") {
    throw nb::type_error("the Arrow stream holds one column, not a table");
  }
  std::vector<Column> columns;
  for (std::int64_t i = 0; i < schema->n_children; ++i) columns.emplace_back(*schema->children[i]);
  if (columns.empty()) throw nb::value_error("the table has no columns");
  return columns;
}

void write_rows(const std::vector<Column>& columns, const ArrowArray& batch, std::ostream& out) {
  std::string line;
  for (std::int64_t row = 0; row < batch.length; ++row) {
    line.clear();
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (i > 0) line += ',';
      columns[i].write(*batch.children[i], batch.offset + row, Field(line));
    }
    out << line << '\n';
  }
}

// `capsule`: of __arrow_c_stream__().
void write_table(const nb::capsule& capsule, const std::string& file) {
  if (std::string_view(capsule.name()) != "arrow_array_stream") {
    throw nb::type_error("__arrow_c_stream__() gave no Arrow stream");
  }
  auto& stream = *static_cast<ArrowArrayStream*>(capsule.data());
  if (stream.release == nullptr) throw nb::value_error("the Arrow stream was read already");
  const std::vector<Column> columns = columns_of(stream);
  std::ofstream out(file, std::ios::binary);
  std::string header;
  for (const Column& one : columns) {
    if (!header.empty()) header += ',';
    Field(header).text(one.name());
  }
  out << header << '\n';
  while (true) {
    Array batch(new ArrowArray{});
    require(stream, stream.get_next(&stream, batch.get()));
    if (batch->release == nullptr) break;
    write_rows(columns, *batch, out);
  }
  out.close();
  if (!out) throw std::runtime_error("cannot write " + file);
}

}  // namespace

void bind_arrow(nb::module_& module) { module.def("write_arrow_table", write_table); }

}  // namespace ondine::python
