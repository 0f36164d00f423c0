#include <catch2/catch.hpp>

#include <cerrno>

#include "checkpoints/store.h"
#include "tests/checkpoints/hooked_files.h"
#include "tests/checkpoints/sample.h"

using namespace ondine;
using namespace ondine::test;

namespace {

using Perform = HookedFiles::Perform;
using Fault = std::function<IoResult(Op, const Perform&)>;

bool moves_bytes(Op op) { return op == Op::write || op == Op::read; }

struct Save {
  bool struck = false;  // the save made call `at`
  bool acknowledged = false;
  std::string message;
};

struct Faults {
  TemporaryFolder folder;
  PosixFileSystem disk;
  std::string path = folder / "model.ckpt";

  std::uint64_t stored_step() {
    const Checkpoint found = load_checkpoint(disk, path).checkpoint;
    if (!identical(found, sample(found.step))) FAIL("step " << found.step << " differs");
    return found.step;
  }
  // Large enough for several writes.
  static Checkpoint sample(std::uint64_t step) { return sample_checkpoint(step, 30'000); }

  // Saves `step`; call number `at` meets the fault, and all calls after it when `lasting`.
  Save save(std::uint64_t step, int at, bool lasting, const Fault& fault) {
    Save result;
    int call = 0;
    HookedFiles files(disk, [&](Op op, const Perform& perform) {
      const int number = call++;
      if (number != at && !(lasting && number > at)) return perform(all_bytes);
      result.struck = true;
      return fault(op, perform);
    });
    try {
      save_checkpoint(files, path, sample(step));
      result.acknowledged = true;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::io) FAIL(error.what());
      result.message = error.what();
    }
    return result;
  }

  // One save after another, the fault at the first, second, ... call.
  int strike_everywhere(bool lasting, const Fault& fault) {
    save_checkpoint(disk, path, sample(1));
    save_checkpoint(disk, path, sample(2));
    int errors = 0;
    for (int at = 0;; ++at) {
      const std::uint64_t old = stored_step();
      const Save result = save(old + 1, at, lasting, fault);
      INFO("call " << at << ": " << result.message);
      const std::uint64_t now = stored_step();
      const bool is_old_or_new = now == old || now == old + 1;
      REQUIRE(is_old_or_new);
      if (result.acknowledged) REQUIRE(now == old + 1);
      if (!result.acknowledged) {
        ++errors;
        REQUIRE(result.message.find(path.substr(0, path.rfind('/'))) != std::string::npos);
      }
      save_checkpoint(disk, path, sample(now + 1));
      REQUIRE(stored_step() == now + 1);
      REQUIRE(folder.names() == std::vector<std::string>{"model.ckpt", "model.ckpt.prev"});
      if (!result.struck) return errors;
    }
  }
};

}  // namespace

TEST_CASE_METHOD(Faults, "any single call of a save may fail") {
  const int error = GENERATE(EIO, ENOSPC, ENOENT);
  const bool lasting = GENERATE(false, true);
  CHECK(strike_everywhere(lasting, [=](Op op, const Perform& perform) {
          // A close that fails has closed all the same.
          if (op == Op::close) perform(all_bytes);
          return IoResult{0, error};
        }) >= 6);
}

TEST_CASE_METHOD(Faults, "any single call of a save may do its work and report a failure") {
  CHECK(strike_everywhere(false, [](Op op, const Perform& perform) {
          const IoResult done = perform(all_bytes);
          if ((op == Op::create || op == Op::open || op == Op::lock) && done.error == 0) {
            PosixFileSystem().close(done.value);
          }
          return IoResult{0, EIO};
        }) >= 6);
}

TEST_CASE_METHOD(Faults, "a disk that fills in the middle of a write leaves the old checkpoint") {
  std::size_t left = 1000;
  CHECK(strike_everywhere(true, [&](Op op, const Perform& perform) {
          if (op != Op::write) return perform(all_bytes);
          const IoResult done = left > 0 ? perform(left) : IoResult{0, ENOSPC};
          left -= std::min(left, static_cast<std::size_t>(done.value));
          if (done.error != 0) left = 1000;
          return done;
        }) >= 2);
}

TEST_CASE_METHOD(Faults, "short reads and writes are continued") {
  HookedFiles files(
      disk, [](Op op, const Perform& perform) { return perform(moves_bytes(op) ? 7 : all_bytes); });
  save_checkpoint(files, path, sample_checkpoint(1));
  save_checkpoint(files, path, sample_checkpoint(2));
  CHECK(identical(load_checkpoint(files, path).checkpoint, sample_checkpoint(2)));
  CHECK(identical(load_checkpoint(files, path + ".prev").checkpoint, sample_checkpoint(1)));
}

TEST_CASE_METHOD(Faults, "a disk that takes nothing and reports nothing is an error") {
  HookedFiles files(disk, [](Op op, const Perform& perform) {
    return op == Op::write ? IoResult{} : perform(all_bytes);
  });
  CHECK_THROWS_WITH(save_checkpoint(files, path, sample(1)), Catch::Contains("cannot write"));
  CHECK(folder.names().empty());
}

TEST_CASE_METHOD(Faults, "a failed fsync is not tried again") {
  save_checkpoint(disk, path, sample(1));
  int syncs = 0;
  HookedFiles files(disk, [&](Op op, const Perform& perform) {
    if (op != Op::sync) return perform(all_bytes);
    return ++syncs == 1 ? IoResult{0, EIO} : perform(all_bytes);
  });
  CHECK_THROWS_WITH(save_checkpoint(files, path, sample(2)), Catch::Contains("cannot sync"));
  CHECK(syncs == 1);
  CHECK(stored_step() == 1);
  CHECK(folder.names() == std::vector<std::string>{"model.ckpt"});
}

TEST_CASE_METHOD(Faults, "an error names the file and the reason, and leaves no temporary file") {
  save_checkpoint(disk, path, sample(1));
  for (const Op failing : {Op::create, Op::write, Op::sync, Op::close, Op::link, Op::rename}) {
    HookedFiles files(disk, [&](Op op, const Perform& perform) {
      if (op != failing) return perform(all_bytes);
      if (op == Op::close) perform(all_bytes);
      return IoResult{0, ENOSPC};
    });
    CHECK_THROWS_WITH(save_checkpoint(files, path, sample(2)),
                      Catch::Contains(path) && Catch::Contains("No space left on device"));
    CHECK(folder.names() == std::vector<std::string>{"model.ckpt"});
    CHECK(stored_step() == 1);
  }
}

TEST_CASE_METHOD(Faults, "any single call of a load may fail, and the other generation is there") {
  save_checkpoint(disk, path, sample(1));
  save_checkpoint(disk, path, sample(2));
  bool struck = true;
  for (int at = 0; struck; ++at) {
    struck = false;
    int call = 0;
    HookedFiles files(disk, [&](Op op, const Perform& perform) {
      if (call++ != at || op == Op::close) return perform(all_bytes);
      struck = true;
      return IoResult{0, EIO};
    });
    const LoadedCheckpoint loaded = load_checkpoint(files, path);
    REQUIRE(identical(loaded.checkpoint, sample(struck ? 1 : 2)));
    REQUIRE(loaded.note.empty() == !struck);
    if (call <= at) break;
    struck = true;
  }
}
