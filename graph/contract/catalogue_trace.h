// Records which operators are looked up.
#pragma once

#include <set>

#include "graph/contract/catalogue.h"

namespace ondine::graph {

struct Graph;

// While alive, records the operators that Catalogue::find returns on this thread, for any
// catalogue. Of nested traces only the innermost records.
class CatalogueTrace {
 public:
  CatalogueTrace() noexcept;
  ~CatalogueTrace();
  CatalogueTrace(const CatalogueTrace&) = delete;
  CatalogueTrace& operator=(const CatalogueTrace&) = delete;

  const std::set<const OpDef*>& found() const noexcept { return found_; }
  // Whether there is one on this thread.
  static bool is_active() noexcept;
  // For Catalogue::find.
  static void note(const OpDef* op);
  // Records the operators of all nodes, including those in subgraphs.
  static void note(const Graph& graph);

  // While alive, nothing is recorded on this thread: passes look up operators that they may not
  // use.
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
