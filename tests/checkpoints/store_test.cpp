#include "checkpoints/store.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/files/atomic_file.h"
#include "tests/checkpoints/hooked_files.h"
#include "tests/checkpoints/sample.h"

using namespace ondine;
using namespace ondine::test;

namespace {

void put(const std::string& path, std::span<const std::byte> bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

struct Store {
  TemporaryFolder folder;
  PosixFileSystem files;
  std::string path = folder / "a.ckpt";

  void save(std::uint64_t step) { save_checkpoint(files, path, sample_checkpoint(step)); }
  LoadedCheckpoint load() { return load_checkpoint(files, path); }
  void damage(const std::string& name) {
    std::vector<std::byte> bytes = encoded(sample_checkpoint(2));
    bytes[150] ^= std::byte{1};
    put(name, bytes);
  }
};

}  // namespace

TEST_CASE_METHOD(Store, "a saved checkpoint loads bit for bit, and the one before it is kept") {
  save(1);
  CHECK(folder.names() == std::vector<std::string>{"a.ckpt"});
  save(2);
  CHECK(folder.names() == std::vector<std::string>{"a.ckpt", "a.ckpt.prev"});
  const LoadedCheckpoint loaded = load();
  CHECK(identical(loaded.checkpoint, sample_checkpoint(2)));
  CHECK(loaded.file == path);
  CHECK(loaded.note.empty());
  CHECK(load_checkpoint(files, path + ".prev").checkpoint.step == 1);
}

TEST_CASE_METHOD(Store, "both renames of a save are made durable by a sync of the folder") {
  save(1);
  std::vector<Op> calls;
  HookedFiles recorded(files, [&](Op op, const HookedFiles::Perform& perform) {
    if (op == Op::rename || op == Op::sync_folder || op == Op::sync) calls.push_back(op);
    return perform(all_bytes);
  });
  save_checkpoint(recorded, path, sample_checkpoint(2));
  CHECK(calls ==
        std::vector<Op>{Op::sync, Op::rename, Op::sync_folder, Op::rename, Op::sync_folder});
}

TEST_CASE_METHOD(Store, "a large checkpoint of every dtype goes through the disk") {
  Checkpoint large = sample_checkpoint(1, 300'000);
  for (auto& variable : variables_of_every_dtype()) large.state.push_back(variable);
  save_checkpoint(files, path, large);
  CHECK(identical(load().checkpoint, large));
}

TEST_CASE_METHOD(Store, "the previous generation is loaded when the newest is damaged or gone") {
  save(1);
  save(2);
  damage(path);
  LoadedCheckpoint loaded = load();
  CHECK(loaded.checkpoint.step == 1);
  CHECK(loaded.file == path + ".prev");
  CHECK_THAT(loaded.note, Catch::Contains("SHA-256") && Catch::Contains(path));
  std::filesystem::remove(path);
  loaded = load();
  CHECK(loaded.checkpoint.step == 1);
  CHECK_THAT(loaded.note, Catch::Contains("No such file"));
}

TEST_CASE_METHOD(Store, "a file that cannot be read is passed over") {
  save(1);
  save(2);
  bool failed = false;
  HookedFiles broken(files, [&](Op op, const HookedFiles::Perform& perform) {
    if (op != Op::read || failed) return perform(all_bytes);
    failed = true;
    return IoResult{0, EIO};
  });
  const LoadedCheckpoint loaded = load_checkpoint(broken, path);
  CHECK(loaded.checkpoint.step == 1);
  CHECK_THAT(loaded.note, Catch::Contains("Input/output error"));
}

TEST_CASE_METHOD(Store, "when no generation loads, both reasons are told") {
  CHECK_THROWS_WITH(load(), Catch::Contains("a.ckpt'") && Catch::Contains("No such file"));
  save(1);
  save(2);
  damage(path);
  std::filesystem::resize_file(path + ".prev", 500);
  CHECK_THROWS_WITH(load(), Catch::Contains("SHA-256") && Catch::Contains("has 500 bytes"));
}

TEST_CASE_METHOD(Store, "a whole checkpoint of another model is no reason to go back") {
  const ExpectedModel speech{{}, {"", "speech", "", 0}};
  Checkpoint checkpoint = sample_checkpoint(1);
  checkpoint.fingerprint = speech.fingerprint;
  save_checkpoint(files, path, checkpoint);
  REQUIRE(load_checkpoint(files, path, speech).checkpoint.step == 1);
  save(2);
  CHECK_THROWS_WITH(load_checkpoint(files, path, speech), Catch::Contains("'speech'"));
}

TEST_CASE_METHOD(Store, "what is no regular file is refused") {
  CHECK_THROWS_WITH(load_checkpoint(files, folder.path()), Catch::Contains("Is a directory"));
  CHECK_THROWS_WITH(load_checkpoint(files, "/dev/zero"), Catch::Contains("Invalid argument"));
  CHECK_THROWS_WITH(save_checkpoint(files, folder.path() + "/", sample_checkpoint(1)),
                    Catch::Contains("does not name a file"));
  CHECK_THROWS_WITH(save_checkpoint(files, folder / "none/a", sample_checkpoint(1)),
                    Catch::Contains("No such file"));
  CHECK_THROWS_WITH(save_checkpoint(files, folder.path(), sample_checkpoint(1)),
                    Catch::Contains("Is a directory"));
  CHECK(folder.names().empty());
  const std::string pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THROWS_WITH(save_checkpoint(files, pipe, sample_checkpoint(1)),
                    Catch::Contains(pipe) && Catch::Contains("is a device, a pipe or a socket"));
  CHECK(std::filesystem::is_fifo(pipe));
  CHECK(folder.names() == std::vector<std::string>{"pipe"});
}

TEST_CASE_METHOD(Store, "a state that cannot be stored leaves the saved one alone") {
  save(1);
  Checkpoint bad = sample_checkpoint(2);
  bad.state.push_back(bad.state[0]);
  CHECK_THROWS_AS(save_checkpoint(files, path, bad), Error);
  CHECK(load().checkpoint.step == 1);
  CHECK(folder.names() == std::vector<std::string>{"a.ckpt"});
}

TEST_CASE_METHOD(Store, "temporary files of dead writers go with the next save, others stay") {
  put(path + ".ondine-tmp-1-0", {});
  put(path + ".ondine-tmp-x", {});
  put(folder / "b.ckpt.ondine-tmp-1-0", {});
  const std::string living = path + ".ondine-tmp-1-1";
  put(living, {});
  const IoResult held = files.lock(living);
  REQUIRE(held.error == 0);
  save(1);
  files.close(held.value);
  CHECK(folder.names() == std::vector<std::string>{"a.ckpt", "a.ckpt.ondine-tmp-1-1",
                                                   "a.ckpt.ondine-tmp-x", "b.ckpt.ondine-tmp-1-0"});
}

TEST_CASE_METHOD(Store, "several threads may save to one path at once") {
  const auto writer = [&](std::uint64_t first) {
    for (std::uint64_t i = 0; i < 25; ++i) save(first + i);
  };
  {
    const std::jthread a(writer, 100);
    const std::jthread b(writer, 200);
    const std::jthread c(writer, 300);
  }
  const Checkpoint last = load().checkpoint;
  CHECK(identical(last, sample_checkpoint(last.step)));
  CHECK(last.step % 100 == 24);
  CHECK(folder.names() == std::vector<std::string>{"a.ckpt", "a.ckpt.prev"});
}

TEST_CASE_METHOD(Store, "atomic_write keeps a previous generation only when asked") {
  for (int i = 0; i < 2; ++i) {
    atomic_write(files, path, [](Sink& sink) { sink.write(bytes_of("text")); });
  }
  CHECK(std::filesystem::file_size(path) == 4);
  CHECK(folder.names() == std::vector<std::string>{"a.ckpt"});
}
