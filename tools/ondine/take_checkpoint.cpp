#include "ondine/take_checkpoint.h"

#include <iostream>

#include <ondine/printable.h>

namespace ondine::cli {

void take_checkpoint(Model& model, const std::string& file) {
  print_note(model.restore_checkpoint(file));
}

void print_note(const RestoreReport& report) {
  if (report.note.empty()) return;
  std::cerr << "note: restored from '" << printable(report.file.string()) << "': " << report.note
            << '\n';
}

}  // namespace ondine::cli
