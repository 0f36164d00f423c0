#include "trainer/federated/node_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "core/byte_order.h"
#include "core/digest.h"
#include "core/message.h"
#include "trainer/federated/reply.h"

namespace ondine::federated {
namespace {

constexpr std::string_view magic = "ondine-parcel 1\n";
constexpr std::size_t most_answered = 10'000;

// Writes parts with their lengths and, at the end, the hash of everything.
class PartWriter {
 public:
  explicit PartWriter(Sink& sink) : sink_(sink) { raw(bytes_of(magic)); }
  void part(std::string_view bytes) {
    std::array<std::byte, 8> length{};
    for (std::size_t i = 0; i < length.size(); ++i) {
      length[i] = static_cast<std::byte>(std::uint64_t{bytes.size()} >> (8 * i));
    }
    raw(length);
    raw(bytes_of(bytes));
  }
  void finish() {
    const Sha256Digest digest = hash_.finish();
    sink_.write(std::as_bytes(std::span(digest)));
  }

 private:
  void raw(std::span<const std::byte> bytes) {
    hash_.update(bytes);
    sink_.write(bytes);
  }

  Sink& sink_;
  Sha256 hash_;
};

std::string_view next_part(std::string_view& rest) {
  std::uint64_t length = 0;
  if (rest.size() < 8) fail(ErrorCode::corrupt, "it is cut off");
  for (std::size_t i = 8; i-- > 0;) length = length << 8 | static_cast<unsigned char>(rest[i]);
  rest.remove_prefix(8);
  if (length > rest.size()) fail(ErrorCode::corrupt, "it is cut off");
  const std::string_view part = rest.substr(0, length);
  rest.remove_prefix(length);
  return part;
}

Parcel read_parcel(std::string_view bytes) {
  constexpr std::size_t digest_size = sizeof(Sha256Digest);
  if (bytes.size() < magic.size() + digest_size || !bytes.starts_with(magic)) {
    fail(ErrorCode::corrupt, "it is no message of a node");
  }
  std::string_view rest = bytes.substr(0, bytes.size() - digest_size);
  const Sha256Digest digest = sha256(bytes_of(rest));
  if (std::memcmp(digest.data(), bytes.data() + rest.size(), digest_size) != 0) {
    fail(ErrorCode::corrupt, "its checksum is wrong");
  }
  rest.remove_prefix(magic.size());
  Parcel parcel;
  parcel.message = fleet::read_message(next_part(rest));
  while (!rest.empty()) {
    const std::string_view content = next_part(rest);
    parcel.objects.emplace(object_id(content), content);
  }
  return parcel;
}

std::string read_file(FileSystem& files, const std::string& path) {
  FileSource source(files, path);
  std::string bytes(source.size(), '\0');
  source.read(std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

bool exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

}  // namespace

NodeFiles::NodeFiles(const std::filesystem::path& checkpoint) : checkpoint_(checkpoint.string()) {
  if (!checkpoint_.empty()) load_answered();
}

void NodeFiles::lock() {
  if (!checkpoint_.empty() && !lock_.is_held()) lock_ = LockFile(files_, checkpoint_);
}

void NodeFiles::save(const char* suffix, const Parcel& parcel) {
  if (checkpoint_.empty()) return;
  atomic_write(files_, path(suffix), [&](Sink& sink) {
    PartWriter writer(sink);
    writer.part(fleet::message_bytes(parcel.message, false));
    for (const auto& [id, content] : parcel.objects) writer.part(content);
    writer.finish();
  });
}

std::optional<Parcel> NodeFiles::load(const char* suffix) {
  if (checkpoint_.empty() || !exists(path(suffix))) return {};
  return with_context([&] { return read_parcel(read_file(files_, path(suffix))); },
                      [&] { return "in " + quoted(path(suffix)); });
}

void NodeFiles::forget(const char* suffix) noexcept {
  if (checkpoint_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove(checkpoint_ + suffix, ignored);
}

void NodeFiles::save_number(std::uint64_t number) {
  if (checkpoint_.empty()) return;
  const std::string text = std::to_string(number) + "\n";
  atomic_write(files_, path(".number"), [&](Sink& sink) { sink.write(bytes_of(text)); });
}

std::optional<std::uint64_t> NodeFiles::number() {
  if (checkpoint_.empty() || !exists(path(".number"))) return {};
  const std::string text = read_file(files_, path(".number"));
  std::uint64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || std::string_view(stop, text.data() + text.size()) != "\n") {
    fail(ErrorCode::corrupt, quoted(path(".number")), " is not the number of a node");
  }
  return number;
}

// A time that is NaN or far away is cut to one that can be written.
void NodeFiles::add_answered(const fleet::Metadata& message) {
  constexpr double far = 1e15;
  const double end = message.created + message.seconds_to_live;
  answered_[message.id] = static_cast<std::int64_t>(end < far ? std::max(end, 0.0) : far) + 1;
  const auto now = static_cast<std::int64_t>(seconds_now());
  std::erase_if(answered_, [&](const auto& one) { return one.second < now; });
  while (answered_.size() > most_answered) {
    answered_.erase(
        std::min_element(answered_.begin(), answered_.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; }));
  }
  if (!checkpoint_.empty()) save_answered();
}

void NodeFiles::save_answered() {
  std::string text;
  for (const auto& [id, end] : answered_) text += id + " " + std::to_string(end) + "\n";
  atomic_write(files_, path(".answered"), [&](Sink& sink) { sink.write(bytes_of(text)); });
}

void NodeFiles::load_answered() {
  if (!exists(path(".answered"))) return;
  const std::string text = read_file(files_, path(".answered"));
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::string_view id = line.substr(0, line.find(' '));
    std::int64_t end = 0;
    const std::string_view digits = line.substr(std::min(id.size() + 1, line.size()));
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), end);
    if (!is_object_id(id) || error != std::errc() || stop != digits.data() + digits.size()) {
      fail(ErrorCode::corrupt, quoted(path(".answered")), " has a line that is no message");
    }
    answered_.emplace(id, end);
  }
}

}  // namespace ondine::federated
