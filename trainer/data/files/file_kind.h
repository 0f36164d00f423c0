// Kinds of files that rows are read from, one row a file: images and recordings.
#pragma once

#include <span>

#include "trainer/data/column.h"
#include "trainer/data/files/decode_budget.h"
#include "trainer/data/files/file_index.h"

namespace ondine::data {

struct FileKind {
  const char* column;  // its name: "image"
  const char* noun;    // for messages: "image", "images"
  const char* nouns;
  std::span<const std::string_view> extensions;  // in small letters
  // Files that are decoded when a batch is taken.
  std::shared_ptr<const Column> (*open)(std::string name, FileIndex files,
                                        const DatasetOptions& options);
  // Decodes a file; throws what is wrong with it.
  void (*check)(const std::string& path, const DecodeBudget& budget);

  // Whether the file is of this kind, by its extension.
  bool has(const std::string& name) const;
};

extern const FileKind image_files;
extern const FileKind sound_files;

}  // namespace ondine::data
