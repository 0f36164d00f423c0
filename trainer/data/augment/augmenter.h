// Changes rows of images and recordings as they are taken for training.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "trainer/data/augment/planes.h"

namespace ondine::data {

class Augmenter {
 public:
  // `model_inputs` are those of the main graph; `rows` are the stored rows that may be mixed.
  // Error(mismatch) for options out of range, where no source has the images or recordings that
  // they are for, and for mixup where one is not of floating point numbers.
  Augmenter(const Augmentation& options, std::uint64_t seed, std::vector<RowSource> sources,
            std::span<const std::string> model_inputs, std::span<const std::uint64_t> rows);

  // Changes a stored row, which lies at entries[i] for sources[i]. Thread-safe.
  void change(std::uint64_t epoch, std::uint64_t row, std::span<std::byte* const> entries) const;

 private:
  struct Part {
    RowSource source;
    std::optional<PlaneLayout> layout;  // of what moves with the image
    bool is_image = false;              // takes colours
    bool is_sound = false;
  };
  void find_parts(std::span<const std::string> model_inputs);
  void find_positions(const PlaneLayout& images);
  [[noreturn]] void refuse(const char* what, const char* rows) const;
  void require_mixable() const;
  void change_sounds(const Part& part, const RowKey& key, std::byte* row) const;
  void change_part(const Part& part, const Draws& draws, std::byte* row) const;
  void change_alone(const RowKey& key, std::span<std::byte* const> entries) const;
  void mix(const RowKey& key, std::span<std::byte* const> entries) const;

  Augmentation options_;
  std::uint64_t seed_;
  std::vector<Part> parts_;
  std::vector<std::uint64_t> rows_;
};

}  // namespace ondine::data
