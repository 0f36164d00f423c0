// Labels that the loss of a model cannot take, which would train or judge it wrongly without a
// word.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <ondine/losses.h>
#include <ondine/model.h>

namespace ondine::fit {

class LabelCheck {
 public:
  // Takes the loss and its labels from the model's data record; checks nothing if the record does
  // not say them.
  explicit LabelCheck(const Model& model);

  // Error(mismatch) where the feed of the labels, or the one that is named, holds another number
  // than the loss takes: one outside of 0..1 for labels that are there or not, other than -1 and 1
  // for signs, probabilities of classes, along axis 1, that are negative or not 1 in all, and in
  // sequences the blank, negative classes and lengths that are none.
  void operator()(std::span<const NamedValue> feeds) const { check(feeds, label_); }
  void check(std::span<const NamedValue> feeds, const std::string& label) const;

 private:
  const LossFacts* loss_;
  std::string label_;
  std::int64_t blank_ = 0;
};

}  // namespace ondine::fit
