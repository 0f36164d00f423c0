// Bytes of a file of data, of which the first picks the reader -> open -> take batches. More than a
// few times the limits in memory is a fault, as is a second reading with another result.
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <ondine/data.h>
#include <ondine/weights.h>

#include "kernels/image/codecs/image.h"
#include "ondine/command.h"
#include "proto/export.h"
#include "tests/fuzz/try_model.h"
#include "tests/support/bitmap.h"
#include "tests/support/models.h"
#include "tests/support/temporary_folder.h"
#include "trainer/import_ort/checkpoint.h"

namespace {

using namespace ondine;
using Bytes = std::span<const std::byte>;

constexpr std::uint64_t most_bytes = std::uint64_t{64} << 20;

Limits narrow_limits() {
  Limits limits;
  limits.tensor_bytes = most_bytes;
  limits.weight_bytes = most_bytes;
  limits.arena_bytes = 4 * most_bytes;
  return limits;
}

// Everything is in one folder, which a process of its own has.
class Folder {
 public:
  Folder() {
    const std::string image = test::bitmap(1, 1, {{1, 2, 3}});
    write("p.bmp", std::as_bytes(std::span(image)));
  }
  std::filesystem::path write(const std::string& name, Bytes bytes) const {
    const std::filesystem::path file = folder_ / name;
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return file;
  }

 private:
  test::TemporaryFolder folder_;
};

const Folder& folder() {
  static const Folder folder;
  return folder;
}

// Inputs for all columns, with sizes where rows leave them open.
std::vector<PortInfo> inputs_of(const Dataset& data) {
  std::vector<PortInfo> inputs = data.columns();
  for (PortInfo& input : inputs) {
    if (!input.dims) continue;
    const bool is_image = input.dims->size() == 4;
    for (std::size_t i = 1; i < input.dims->size(); ++i) {
      std::int64_t& dim = (*input.dims)[i];
      if (dim < 0) dim = is_image ? 8 : 64;
    }
  }
  return inputs;
}

// The bits of the first batches.
std::vector<Tensor> some_rows(const Dataset& data) {
  std::vector<Tensor> found;
  const BatchOptions options{.shuffle = false, .inputs = inputs_of(data)};
  for (const Batch& batch : data.batches(3, options)) {
    for (const NamedValue& one : batch.feeds()) found.push_back(one.second.tensor().clone());
    if (found.size() > 6) break;
  }
  return found;
}

void read_dataset(Bytes bytes, std::string_view name) {
  DatasetOptions options;
  options.limits = narrow_limits();
  options.deadline = std::chrono::seconds(2);
  options.threads = 1;
  options.cache_bytes = 0;
  options.audio.seconds = 0.001;
  options.fill = 0;
  options.text.length = name.ends_with(".txt") ? 4 : 0;
  const std::filesystem::path file = folder().write(std::string(name), bytes);
  const Dataset data = Dataset::open(file, options);
  data.class_counts();
  data.notes();
  const std::vector<Tensor> first = some_rows(data);
  const std::vector<Tensor> second = some_rows(data);
  const auto same = [](const Tensor& a, const Tensor& b) { return a.identical(b); };
  if (!std::ranges::equal(first, second, same)) throw test::Fault("rows differ when taken again");
}

// Both depths, as stored and upright.
void read_image(Bytes bytes, std::string_view) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(bytes.data());
  const auto budget = std::make_shared<MemoryBudget>(most_bytes);
  std::int64_t pixels = -1;
  for (const bool wide : {false, true}) {
    for (const bool upright : {false, true}) {
      const Tensor image =
          kernels::decode_image({first, bytes.size()}, budget, {.wide = wide, .upright = upright});
      if (pixels >= 0 && image.size() != pixels) throw test::Fault("an image of another size");
      pixels = image.size();
    }
  }
  if (budget->used() != 0) throw test::Fault("a budget is not released");
}

void read_weights(Bytes bytes, std::string_view name) {
  static Model model = Model::load(export_model(test::linear_regression(0.1F)));
  load_weights(model, folder().write(std::string(name), bytes));
}

void read_ort(Bytes bytes, std::string_view) {
  trainer::read_ort_checkpoint(bytes, narrow_limits());
}

// A model, whose size is in the first two bytes, and a text.
void read_pieces(Bytes bytes, std::string_view) {
  if (bytes.size() < 2) return;
  const std::size_t size =
      std::min(bytes.size() - 2, std::to_integer<std::size_t>(bytes[0]) +
                                     256 * std::to_integer<std::size_t>(bytes[1]));
  const TextEncoding encoding = TextEncoding::sentencepiece(bytes.subspan(2, size));
  const Bytes rest = bytes.subspan(2 + size);
  std::string text(reinterpret_cast<const char*>(rest.data()), rest.size());
  const std::vector<std::int64_t> ids = encoding.encode(text);
  if (encoding.encode(text) != ids) throw test::Fault("encoded again, the ids differ");
  encoding.decode(ids);
}

// While it lives, nothing is printed on standard error.
class Silence {
 public:
  Silence() : kept_(std::cerr.rdbuf(unread_.rdbuf())) {}
  ~Silence() { std::cerr.rdbuf(kept_); }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

 private:
  std::ostringstream unread_;
  std::streambuf* kept_;
};

// Options of every kind from a job file.
void read_job(Bytes bytes, std::string_view name) {
  cli::Parser parser;
  parser.add("train", "", "", [](const CommandOptions&) { return 0; });
  const std::string file = folder().write(std::string(name), bytes).string();
  const Silence silence;
  parser.run({"ondine", "train", "--config", file});
}

struct Reader {
  std::string_view name;  // of the file
  void (*read)(Bytes bytes, std::string_view name);
};

constexpr std::array<Reader, 22> readers{{
    {"a.npy", read_dataset},        {"a.npz", read_dataset},         {"a.npy.gz", read_dataset},
    {"a-idx3-ubyte", read_dataset}, {"a.csv", read_dataset},         {"a.tsv", read_dataset},
    {"list.csv", read_dataset},     {"a.jsonl", read_dataset},       {"a.txt", read_dataset},
    {"a.bmp", read_dataset},        {"a.png", read_dataset},         {"a.jpg", read_dataset},
    {"a.tif", read_dataset},        {"a.webp", read_dataset},        {"a.wav", read_dataset},
    {"a.flac", read_dataset},       {"a.ogg", read_dataset},         {"image", read_image},
    {"job.toml", read_job},         {"a.safetensors", read_weights}, {"checkpoint", read_ort},
    {"pieces", read_pieces},
}};

void require_little_memory() {
  constexpr std::int64_t most_kilobytes = std::int64_t{3} << 19;  // sanitizers take half
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  if (usage.ru_maxrss > most_kilobytes) {
    throw test::Fault(std::to_string(usage.ru_maxrss) + " kB of memory");
  }
}

}  // namespace

// libsndfile leaks what libvorbis allocates for an Ogg file that it refuses.
extern "C" const char* __lsan_default_suppressions() { return "leak:vorbis_info_init\n"; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Reader& reader = readers[data[0] % readers.size()];
  test::refuses([&] { reader.read(std::as_bytes(std::span(data + 1, size - 1)), reader.name); });
  require_little_memory();
  return 0;
}
