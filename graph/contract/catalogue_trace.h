// Which operators a piece of work asks a catalogue for.
#pragma once

#include <set>

#include "graph/contract/catalogue.h"

namespace ondine::graph {

struct Graph;

// Records what Catalogue::find returns on this thread while it lives, for any catalogue. One inside
// another hides the outer one.
class CatalogueTrace {
 public:
  CatalogueTrace() noexcept;
  ~CatalogueTrace();
  CatalogueTrace(const CatalogueTrace&) = delete;
  CatalogueTrace& operator=(const CatalogueTrace&) = delete;

  const std::set<const OpDef*>& found() const noexcept { return found_; }
  // For Catalogue::find.
  static void note(const OpDef* op);
  // The operators of all nodes, those of bodies too.
  static void note(const Graph& graph);

  // While it lives nothing is recorded on this thread: for passes, which look up operators that
  // they then may not use.
  class Pause {
   public:
    Pause() noexcept;
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    CatalogueTrace* paused_;
  };

 private:
  std::set<const OpDef*> found_;
  CatalogueTrace* outer_;
};

}  // namespace ondine::graph
