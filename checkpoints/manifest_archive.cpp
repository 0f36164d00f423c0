#include <algorithm>
#include <boost/archive/archive_exception.hpp>
#include <boost/archive/text_iarchive.hpp>
#include <boost/archive/text_oarchive.hpp>
#include <istream>
#include <locale>
#include <new>
#include <ostream>
#include <span>
#include <streambuf>
#include <string>
#include <utility>

#include "checkpoints/manifest.h"
#include "core/message.h"

namespace ondine {
namespace {

// no_header: the archive does not depend on the version of Boost.
constexpr unsigned archive_flags = boost::archive::no_header;

class Writer {
 public:
  explicit Writer(std::ostream& out) : archive_(out, archive_flags) {}

  template <class... Fields>
  void operator()(const Fields&... fields) {
    (put(fields), ...);
  }

 private:
  void put(std::uint64_t n) { archive_ << n; }
  void put(std::int64_t n) { archive_ << n; }
  void put(const std::string& text) { archive_ << text; }
  template <class T>
  void put(const std::vector<T>& list) {
    put(static_cast<std::uint64_t>(list.size()));
    for (const T& element : list) put(element);
  }
  template <class T>
  void put(const T& record) {
    visit_fields(record, *this);
  }

  boost::archive::text_oarchive archive_;
};

// Streams swallow std::bad_alloc, and an archive writes in its destructor, so the stream is checked
// at the end.
class StringBuffer final : public std::streambuf {
 public:
  std::string take() {
    if (full_) throw std::bad_alloc();
    return std::move(text_);
  }

 private:
  std::streamsize xsputn(const char* text, std::streamsize n) override {
    try {
      text_.append(text, static_cast<std::size_t>(n));
    } catch (const std::bad_alloc&) {
      full_ = true;
    }
    return n;
  }
  int_type overflow(int_type c) override {
    const char one = traits_type::to_char_type(c);
    if (!traits_type::eq_int_type(c, traits_type::eof())) xsputn(&one, 1);
    return traits_type::not_eof(c);
  }

  std::string text_;
  bool full_ = false;
};

class SpanBuffer final : public std::streambuf {
 public:
  explicit SpanBuffer(std::span<const std::byte> bytes) {
    char* first = const_cast<char*>(reinterpret_cast<const char*>(bytes.data()));
    setg(first, first, first + bytes.size());
  }
  std::uint64_t left() const { return static_cast<std::uint64_t>(egptr() - gptr()); }
};

class Reader {
 public:
  Reader(std::istream& in, const SpanBuffer& bytes)
      : in_(in), bytes_(bytes), archive_(in, archive_flags) {}

  template <class... Fields>
  void operator()(Fields&... fields) {
    (get(fields), ...);
  }

 private:
  void get(std::uint64_t& n) { archive_ >> n; }
  void get(std::int64_t& n) { archive_ >> n; }
  // Boost's string loader would allocate the length before checking the remaining bytes.
  void get(std::string& text) {
    const std::uint64_t n = get_length(1);
    in_.get();
    text.resize(static_cast<std::size_t>(n));
    in_.read(text.data(), static_cast<std::streamsize>(n));
  }
  template <class T>
  void get(std::vector<T>& list) {
    for (std::uint64_t n = get_length(2); n > 0; --n) get(list.emplace_back());
  }
  template <class T>
  void get(T& record) {
    visit_fields(record, *this);
  }

  std::uint64_t get_length(std::uint64_t bytes_each) {
    std::uint64_t n = 0;
    archive_ >> n;
    if (n > bytes_.left() / bytes_each) {
      fail(ErrorCode::corrupt, "manifest states a length of ", n, " with ", bytes_.left(),
           " bytes left");
    }
    return n;
  }

  std::istream& in_;
  const SpanBuffer& bytes_;
  boost::archive::text_iarchive archive_;
};

template <class Record, class Plain>
concept IsRecord = std::same_as<std::remove_const_t<Record>, Plain>;

// The order of these fields is the format: docs/checkpoints.md.
template <IsRecord<ModelIdentity> Record>
void visit_fields(Record& model, auto& fields) {
  fields(model.producer, model.name, model.domain, model.model_version);
}
template <IsRecord<TrainingCursor> Record>
void visit_fields(Record& cursor, auto& fields) {
  fields(cursor.epoch, cursor.shuffle_seed, cursor.position);
}
template <IsRecord<PropertyEntry> Record>
void visit_fields(Record& property, auto& fields) {
  fields(property.name, property.kind, property.integer, property.real_bits, property.text);
}
template <IsRecord<TensorEntry> Record>
void visit_fields(Record& tensor, auto& fields) {
  fields(tensor.name, tensor.role, tensor.dtype, tensor.dims, tensor.bytes, tensor.crc);
}
template <IsRecord<Manifest> Record>
void visit_fields(Record& manifest, auto& fields) {
  fields(manifest.library_version, manifest.model, manifest.random_seed, manifest.random_step,
         manifest.step, manifest.epoch, manifest.algorithm_steps, manifest.cursor,
         manifest.properties, manifest.tensors);
}

}  // namespace

std::string encode_manifest(const Manifest& manifest) {
  StringBuffer buffer;
  std::ostream out(&buffer);
  out.imbue(std::locale::classic());
  try {
    Writer writer(out);
    writer(manifest);
  } catch (const boost::archive::archive_exception&) {
    throw std::bad_alloc();  // a stream to memory fails for no other reason
  }
  if (!out) throw std::bad_alloc();
  return buffer.take();
}

Manifest decode_manifest_v1(std::span<const std::byte> bytes) {
  SpanBuffer buffer(bytes);
  std::istream in(&buffer);
  in.imbue(std::locale::classic());
  Manifest manifest;
  try {
    Reader reader(in, buffer);
    reader(manifest);
  } catch (const boost::archive::archive_exception& error) {
    if (in.bad()) throw std::bad_alloc();  // reading from memory fails for no other reason
    fail(ErrorCode::corrupt, "manifest does not read: ", error.what(), " at byte ",
         bytes.size() - buffer.left());
  }
  if (in.bad()) throw std::bad_alloc();
  if (buffer.left() != 1 || in.get() != '\n') {
    fail(ErrorCode::corrupt, "manifest does not end at byte ", bytes.size() - buffer.left());
  }
  // Rejects what Boost tolerates: other white space and leading zeros.
  const std::string canonical = encode_manifest(manifest);
  if (!std::ranges::equal(std::as_bytes(std::span(canonical)), bytes)) {
    fail(ErrorCode::corrupt, "manifest is not spelled as a writer spells it");
  }
  return manifest;
}

}  // namespace ondine
