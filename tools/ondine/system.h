// Services of the operating system for the command line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ondine::cli {

// The arguments of the program in UTF-8.
std::vector<std::string> program_arguments(int argc, char** argv);
// The file of the program.
std::filesystem::path program_file();

// Makes the standard streams ready: bytes pass unchanged, a console shows UTF-8, and those of the
// descriptors 0 to 2 that are missing are opened on the null device: the next file that the program
// opens would take their place, and get what is printed. False where that fails.
bool prepare_streams() noexcept;

enum class Stream { in, out };
// Whether a person sees the stream; one that is written to then knows control sequences.
bool is_terminal(Stream stream) noexcept;

// Largest memory and processor time of this process.
std::uint64_t resident_peak();
double processor_seconds();

// A new folder among the temporary files. Throws Error(io).
std::filesystem::path make_temporary_folder(const std::string& prefix);

}  // namespace ondine::cli
