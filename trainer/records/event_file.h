// TensorBoard's event files: records (a length, its checksum, an Event in the wire format of
// protocol buffers, its checksum), with checksums that are masked CRC-32C. Fields and numbers are
// those of tensorflow/core/util/event.proto and framework/summary.proto.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ondine::records {

class EventFile {
 public:
  // Creates the file and writes its version. Error(io).
  EventFile(std::filesystem::path file, double wall_time);

  // Tells readers to drop what they have of `step` and later steps.
  void restart(double wall_time, std::int64_t step);
  void scalars(double wall_time, std::int64_t step,
               std::span<const std::pair<std::string, double>> values);
  void flush();

 private:
  void record(const std::string& event);

  std::filesystem::path file_;
  std::ofstream out_;
};

// An event file's events, one text for each record. Error(corrupt) for a wrong checksum or length.
std::vector<std::string> read_records(const std::string& bytes);

}  // namespace ondine::records
