// Communicator by a shim library, opened at run time, that is compiled for the MPI in use.
#include <cstdlib>
#include <filesystem>
#include <limits>

#include <ondine/communicator.h>

#include "core/message.h"
#include "core/out_of_memory.h"
#ifdef ONDINE_MPI
#include <dlfcn.h>

#include "trainer/cluster/mpi/ondine_mpi.h"
#endif

namespace ondine {
namespace {

struct Launcher {
  const char* variable;  // that its mpirun sets
  const char* name;
  const char* library;
};

constexpr Launcher launchers[] = {
    {"OMPI_COMM_WORLD_SIZE", "Open MPI", "libondine_mpi_openmpi.so"},
    {"PMI_SIZE", "MPICH", "libondine_mpi_mpich.so"},
};

const Launcher* find_launcher() {
  for (const Launcher& one : launchers) {
    if (std::getenv(one.variable) != nullptr) return &one;
  }
  return nullptr;
}

#ifdef ONDINE_MPI

// Beside the program or the library, or where an installed one lies.
std::vector<std::filesystem::path> places_of(const char* library) {
  std::vector<std::filesystem::path> places;
  if (const char* folder = std::getenv("ONDINE_MPI_DIR"); folder != nullptr && *folder != '\0') {
    return {std::filesystem::path(folder) / library};
  }
  Dl_info own{};
  std::error_code error;
  if (::dladdr(reinterpret_cast<const void*>(&places_of), &own) != 0 && own.dli_fname != nullptr) {
    const auto file = std::filesystem::canonical(own.dli_fname, error);
    if (!error) places.push_back(file.parent_path() / library);
  }
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    places.push_back(program.parent_path() / library);
    places.push_back(program.parent_path().parent_path() / "lib" / library);
    places.push_back(program.parent_path().parent_path() / ONDINE_LIBDIR / library);
  }
  return places;
}

const ondine_mpi& open_shim(const Launcher& launcher) {
  std::string reason;
  for (const std::filesystem::path& file : places_of(launcher.library)) {
    std::error_code error;
    if (!std::filesystem::exists(file, error)) continue;
    // Open MPI opens libraries of its own, which look for its functions among the global ones.
    void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
      reason = ::dlerror();
      continue;
    }
    void* const found = ::dlsym(library, "ondine_mpi_functions");
    const auto functions = reinterpret_cast<decltype(&ondine_mpi_functions)>(found);
    if (functions != nullptr && functions()->version == ONDINE_MPI_VERSION) return *functions();
    reason = file.string() + " belongs to another version of Ondine";
  }
  fail(ErrorCode::unsupported, "the mpirun of ", launcher.name,
       " started this process, which needs ", launcher.library, ": ",
       reason.empty() ? "it is not there; the build found no compiler of that MPI" : reason);
}

class MpiCommunicator final : public Communicator {
 public:
  explicit MpiCommunicator(const Launcher& launcher) : mpi_(&open_shim(launcher)) {
    int rank = 0;
    int size = 0;
    check([&](char* error, std::size_t room) { return mpi_->start(&rank, &size, error, room); });
    rank_ = static_cast<std::size_t>(rank);
    size_ = static_cast<std::size_t>(size);
  }

  std::size_t rank() const noexcept override { return rank_; }
  std::size_t size() const noexcept override { return size_; }

  std::string describe() const override {
    char text[256] = "";
    mpi_->describe(text, sizeof text);
    return text;
  }

  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    require_size(all.size());
    check([&](char* error, std::size_t room) {
      return mpi_->all_gather(mine.data(), all.data(), mine.size(), error, room);
    });
  }
  void all_to_all(std::span<const std::byte> parts, std::span<std::byte> received) override {
    require_size(parts.size());
    check([&](char* error, std::size_t room) {
      return mpi_->all_to_all(parts.data(), received.data(), parts.size() / size_, error, room);
    });
  }
  void broadcast(std::span<std::byte> bytes, std::size_t from) override {
    require_size(bytes.size());
    check([&](char* error, std::size_t room) {
      return mpi_->broadcast(bytes.data(), bytes.size(), static_cast<int>(from), error, room);
    });
  }
  void add(std::span<float> values) override {
    require_size(values.size());
    check([&](char* error, std::size_t room) {
      return mpi_->add_floats(values.data(), values.size(), error, room);
    });
  }
  void add(std::span<double> values) override {
    require_size(values.size());
    check([&](char* error, std::size_t room) {
      return mpi_->add_doubles(values.data(), values.size(), error, room);
    });
  }
  void barrier() override {
    check([&](char* error, std::size_t room) { return mpi_->barrier(error, room); });
  }
  void abort() noexcept override { mpi_->abort(1); }

  void finish() const noexcept { mpi_->finish(); }

 private:
  template <class Call>
  void check(Call&& call) const {
    char error[512] = "";
    if (call(error, sizeof error) != 0) {
      fail(ErrorCode::io, "MPI failed on rank ", rank_, ": ", error);
    }
  }

  static void require_size(std::size_t count) {
    if (count <= static_cast<std::size_t>(std::numeric_limits<int>::max())) return;
    fail(ErrorCode::limit, "a message of ", count, " bytes is too large for MPI");
  }

  const ondine_mpi* mpi_;
  std::size_t rank_ = 0;
  std::size_t size_ = 1;
};

std::shared_ptr<Communicator> start(const Launcher& launcher) {
  // Never destroyed: MPI ends once, when the program does.
  static const auto* const started =
      new std::shared_ptr<MpiCommunicator>(std::make_shared<MpiCommunicator>(launcher));
  static const int registered = std::atexit([] { (*started)->finish(); });
  static_cast<void>(registered);
  return *started;
}

#else

std::shared_ptr<Communicator> start(const Launcher& launcher) {
  fail(ErrorCode::unsupported, "the mpirun of ", launcher.name,
       " started this process, and this build is without MPI (ONDINE_WITH_MPI)");
}

#endif

}  // namespace

std::shared_ptr<Communicator> mpi_communicator() {
  return guard_memory("join a cluster", [&]() -> std::shared_ptr<Communicator> {
    const Launcher* const launcher = find_launcher();
    return launcher == nullptr ? nullptr : start(*launcher);
  });
}

}  // namespace ondine
