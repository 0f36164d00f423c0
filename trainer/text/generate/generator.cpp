#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include <ondine/generate.h>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "trainer/data/text/passage.h"
#include "trainer/text/caches/cached_model.h"
#include "trainer/text/caches/fresh_outputs.h"
#include "trainer/text/generate/decoder_call.h"
#include "trainer/text/generate/require_options.h"
#include "trainer/text/generate/sampler.h"
#include "trainer/text/generate/text_stream.h"
#include "trainer/text/generate/token_scores.h"

namespace ondine {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

GenerateOptions checked(GenerateOptions options) {
  text::require_ranges(options);
  text::require_effects(options, OptionSpelling::name);
  return options;
}

TextEncoding encoding_of(const Model& model, const GenerateOptions& options) {
  return options.encoding ? *options.encoding : text_options(model).encoding;
}

std::string template_of(const Model& model, const GenerateOptions& options) {
  return options.chat_template.empty() ? text_options(model).next.chat_template
                                       : options.chat_template;
}

}  // namespace

const char* to_string(GenerateEnd end) noexcept {
  switch (end) {
    case GenerateEnd::max_tokens:
      return "max_tokens";
    case GenerateEnd::end_token:
      return "end_token";
    case GenerateEnd::stop_text:
      return "stop_text";
    case GenerateEnd::context:
      return "context";
    case GenerateEnd::callback:
      break;
  }
  return "callback";
}

const char* to_string(GenerateCache cache) noexcept {
  switch (cache) {
    case GenerateCache::none:
      return "none";
    case GenerateCache::exact:
      return "exact";
    case GenerateCache::padded:
      break;
  }
  return "padded";
}

struct Generator::Impl {
  Impl(const Model& model, GenerateOptions given)
      : options(checked(std::move(given))),
        chat_template(template_of(model, options)),
        call(model, encoding_of(model, options)) {
    call.ports().caches.empty() ? make_caches(model) : add_fresh_outputs(model);
  }

  // Without them the model is run as it is.
  void add_fresh_outputs(const Model& model) {
    try {
      made.model = text::with_fresh_outputs(model, call.ports());
      if (made.model) cached.emplace(*made.model, call.encoding());
    } catch (const Error& error) {
      if (error.code() == ErrorCode::cancelled) throw;
      cached.reset();
      made.model.reset();
    }
  }

  // The model with caches, where it can be made and gives the same.
  void make_caches(const Model& model) {
    made = text::make_cached_model(model, call.ports(), static_cast<std::int64_t>(call.context()));
    if (!made.model) return;
    made.reason = "with caches its scores differ";
    try {
      cached.emplace(*made.model, call.encoding());
      if (agrees()) return;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::cancelled) throw;
      made.reason = error.what();
    }
    cached.reset();
    made.model.reset();
  }

  // Whether the scores after a few tokens agree, read at once without caches and in two steps with
  // them.
  bool agrees() const {
    std::vector<std::int64_t> tokens;
    for (std::int64_t i = 0; i < std::min<std::int64_t>(12, made.longest); ++i) {
      tokens.push_back((i * i * 7 + 3 * i + 1) % call.encoding().size());
    }
    const auto all = std::span<const std::int64_t>(tokens);
    const std::vector<double> wanted = text::make_token_scores(call)->next(all);
    const auto steps = text::make_token_scores(*cached);
    steps->next(all.first(all.size() - 1));
    const std::vector<double> found = steps->next(all);
    double largest = 1;
    for (const double score : wanted) {
      if (std::isfinite(score)) largest = std::max(largest, std::abs(score));
    }
    return std::ranges::equal(wanted, found, [&](double x, double y) {
      return x == y || std::abs(x - y) <= 1e-4 * largest;
    });
  }

  std::string why_none() const {
    if (!cached) return made.reason;
    return cat("the text has more than ", made.longest, " tokens");
  }

  // Where a text ends at the latest. Models without caches see the last tokens of longer ones.
  std::optional<DataRecord::Context> longest() const {
    if (call.ports().caches.empty()) return {};
    std::optional<DataRecord::Context> most;
    for (const DataRecord::Context* one : {&call.lengths().context, &call.lengths().generated}) {
      if (one->tokens == 0 || !one->is_limit) continue;
      if (!most || one->tokens < most->tokens) most = *one;
    }
    return most;
  }

  std::unique_ptr<text::TokenScores> scores() const {
    if (!cached) return text::make_token_scores(call);
    return call.ports().caches.empty() ? text::make_token_scores(call, *cached, made.longest)
                                       : text::make_token_scores(*cached);
  }

  // One text.
  class Run;

  GenerateOptions options;
  std::string chat_template;  // empty where there is none
  text::DecoderCall call;
  text::CachedModel made;                   // with caches, or outputs for what is new in them
  std::optional<text::DecoderCall> cached;  // of `made`
};

class Generator::Impl::Run {
 public:
  Run(const Impl& impl, std::span<const std::int64_t> prompt, const OnText& on_text)
      : impl_(&impl),
        on_text_(&on_text),
        scores_(impl.scores()),
        sampler_(impl.options),
        stream_(impl.call.encoding(), prompt),
        scanner_(impl.options.stop),
        tokens_(prompt.begin(), prompt.end()) {
    report_.prompt_tokens = prompt.size();
    for (const std::int64_t token : prompt) sampler_.see(token);
  }

  GenerateReport take() {
    const std::optional<DataRecord::Context> most = impl_->longest();
    if (most) require_room(*most);
    while (report_.tokens.size() < impl_->options.max_tokens && !ended_) {
      if (most && std::ssize(tokens_) >= most->tokens) {
        report_.context = cat("texts have at most ", most->tokens, " tokens (", most->source, ")");
        end(GenerateEnd::context);
      } else {
        step();
      }
    }
    note_length();
    if (!is_cut()) show(stream_.finish());
    if (!is_cut()) write(scanner_.finish());
    report_.cache = scores_->cache();
    if (report_.cache == GenerateCache::none) report_.no_cache = impl_->why_none();
    return std::move(report_);
  }

 private:
  // Whether text that waits is not wanted.
  bool is_cut() const noexcept {
    return report_.end == GenerateEnd::stop_text || report_.end == GenerateEnd::callback;
  }

  void require_room(const DataRecord::Context& most) const {
    if (std::ssize(tokens_) < most.tokens) return;
    fail(ErrorCode::mismatch, "the prompt has ", tokens_.size(),
         " tokens and leaves no room for another: texts of the model have at most ", most.tokens,
         " tokens (", most.source, ")");
  }

  // Where the network has not learned with so many tokens.
  void note_length() {
    const DataRecord::Context& known = impl_->call.lengths().context;
    std::int64_t seen = std::ssize(tokens_);
    if (impl_->call.ports().caches.empty()) {
      seen = std::min(seen, static_cast<std::int64_t>(impl_->call.context()));
    }
    if (known.is_limit || known.tokens == 0 || seen <= known.tokens) return;
    report_.context = cat(seen, " tokens were seen at once, the network was trained with at most ",
                          known.tokens, " (", known.source, ")");
  }

  void step() {
    const auto start = Clock::now();
    std::vector<double> scores = scores_->next(tokens_);
    const std::int64_t token = sampler_.choose(std::move(scores), report_.tokens.size());
    (report_.tokens.empty() ? report_.prefill_seconds : report_.decode_seconds) +=
        seconds_since(start);
    tokens_.push_back(token);
    report_.tokens.push_back(token);
    sampler_.see(token);
    const auto ends = impl_->call.encoding().end_ids();
    if (!impl_->options.ignore_end && std::ranges::find(ends, token) != ends.end()) {
      return end(GenerateEnd::end_token);
    }
    show(stream_.add(token));
  }

  void show(const std::string& part) {
    if (part.empty()) return;
    write(scanner_.add(part));
    if (scanner_.found() && report_.end != GenerateEnd::callback) end(GenerateEnd::stop_text);
  }

  void write(const std::string& part) {
    if (part.empty()) return;
    report_.text += part;
    if (*on_text_ && !(*on_text_)(part)) end(GenerateEnd::callback);
  }

  void end(GenerateEnd why) {
    report_.end = why;
    ended_ = true;
  }

  const Impl* impl_;
  const OnText* on_text_;
  std::unique_ptr<text::TokenScores> scores_;
  text::Sampler sampler_;
  text::TextStream stream_;
  text::StopScanner scanner_;
  std::vector<std::int64_t> tokens_;
  GenerateReport report_;
  bool ended_ = false;
};

Generator::Generator(const Model& model, GenerateOptions options)
    : impl_(guard_memory("look at the model",
                         [&] { return std::make_unique<const Impl>(model, std::move(options)); })) {
}
Generator::Generator(Generator&&) noexcept = default;
Generator& Generator::operator=(Generator&&) noexcept = default;
Generator::~Generator() = default;

const TextEncoding& Generator::encoding() const noexcept { return impl_->call.encoding(); }

GenerateReport Generator::generate(std::string_view prompt, const OnText& on_text) const {
  return generate(encoding().encode_beginning(prompt), on_text);
}

GenerateReport Generator::answer(std::span<const ChatMessage> messages,
                                 const OnText& on_text) const {
  const std::string& chat = impl_->chat_template;
  if (chat.empty()) {
    fail(ErrorCode::mismatch,
         "the model has no chat template: give one (--chat-template, "
         "GenerateOptions::chat_template)");
  }
  if (messages.empty()) fail(ErrorCode::mismatch, "there is no message to answer");
  return generate(
      data::encode_bare(ChatTemplate::from_text(chat).render(messages, true), encoding()), on_text);
}

GenerateReport Generator::generate(std::span<const std::int64_t> prompt,
                                   const OnText& on_text) const {
  return guard_memory("generate a text", [&] {
    if (prompt.empty()) fail(ErrorCode::mismatch, "the prompt has no text");
    for (const std::int64_t id : prompt) {
      if (id < 0 || id >= encoding().size()) {
        fail(ErrorCode::mismatch, "the prompt has ", id, ", which is none of the ",
             encoding().size(), " ids of the encoding ", quoted(encoding().name()));
      }
    }
    return Impl::Run(*impl_, prompt, on_text).take();
  });
}

}  // namespace ondine
