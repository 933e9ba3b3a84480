#pragma once
// Speculative decoding (Leviathan et al. 2023): a drafter proposes tokens that may follow, one pass of the model
// computes the logits after all of them, and each token is drawn from its own logits as if there were no drafts. Since
// a row's bits do not depend on its batch, a generation is the same with and without; drafts that come true save
// passes.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "lm/language_model.h"
#include "lm/session.h"

namespace loom {

// Proposes the tokens of one sequence at a time.
class Drafter {
 public:
  // How much speaks for a proposal, 0: there is none. Proposals of one evidence come true about equally often.
  static constexpr std::size_t kMostEvidence = 8;

  virtual ~Drafter() = default;
  // All of the sequence, which may be another one than before.
  virtual Result<void> read(std::span<const std::int32_t> ids, const std::atomic<bool>* cancel) = 0;
  virtual void append(std::int32_t id) = 0;
  virtual std::size_t evidence() const = 0;
  // At most `most` ids that may follow, where evidence is above 0; valid until the next call.
  virtual Result<std::span<const std::int32_t>> propose(std::size_t most, const std::atomic<bool>* cancel) = 0;
  // Of proposing one id, in passes of one row of the model that is helped.
  virtual double cost() const { return 0; }
};

// Proposes the tokens that followed the last few tokens at an earlier place of the text, prompt or answer (Saxena 2023,
// prompt lookup): the latest place that agrees in 4 tokens, else in 3, else in 2. Evidence is the number of tokens that
// agree.
class NgramDrafter final : public Drafter {
 public:
  Result<void> read(std::span<const std::int32_t> ids, const std::atomic<bool>* cancel) override;
  void append(std::int32_t id) override;
  std::size_t evidence() const override { return evidence_; }
  Result<std::span<const std::int32_t>> propose(std::size_t most, const std::atomic<bool>* cancel) override;

 private:
  static constexpr std::size_t kLeast = 2, kMost = 4;
  static constexpr std::size_t kLengths = kMost - kLeast + 1;
  bool agree(std::size_t end, std::size_t count) const;
  void find();

  std::vector<std::int32_t> ids_, drafts_;
  // By a hash of the tokens, for each length: the position after the latest place that has them and a successor. A
  // comparison finds places that only share the hash.
  std::array<std::unordered_map<std::uint64_t, std::size_t>, kLengths> places_;
  std::size_t source_ = 0, evidence_ = 0;
};

// Proposes the likeliest tokens of a smaller model.
class ModelDrafter final : public Drafter {
 public:
  // `session` is one of the model that is helped; its threads serve both. InvalidArgument where the two models do not
  // have the same tokens; NotFound for one that brings no tokenizer; what Session::create() refuses.
  static Result<std::shared_ptr<ModelDrafter>> create(const LanguageModel& draft, const LanguageModel& model,
                                                      const Session& session);

  Result<void> read(std::span<const std::int32_t> ids, const std::atomic<bool>* cancel) override;
  void append(std::int32_t id) override { ids_.push_back(id); }
  std::size_t evidence() const override;
  Result<std::span<const std::int32_t>> propose(std::size_t most, const std::atomic<bool>* cancel) override;
  double cost() const override { return cost_; }

 private:
  ModelDrafter() = default;

  std::unique_ptr<Session> session_;
  std::vector<std::int32_t> ids_, drafts_;
  std::int32_t vocab_ = 0;  // of the model that is helped
  double cost_ = 0;
};

// How a generation drafted. Every fed token takes a pass or was an accepted draft.
struct SpeculationCounts {
  std::size_t drafted = 0, accepted = 0, passes = 0;
  SpeculationCounts& operator+=(const SpeculationCounts& other) {
    drafted += other.drafted, accepted += other.accepted, passes += other.passes;
    return *this;
  }
};

// Decides how many tokens are drafted: by how often drafts of the same evidence came true before, and by an account
// that lets drafts cost 2% more than the passes that they save. It reads no clock: equal generations draft equally.
class Speculation {
 public:
  explicit Speculation(std::shared_ptr<Drafter> drafter);
  Result<void> read(std::span<const std::int32_t> ids, const std::atomic<bool>* cancel) {
    return drafter_->read(ids, cancel);
  }
  // The drafts to feed after an id that was drawn, at most `room`; none where a draft has predicted the id.
  Result<std::span<const std::int32_t>> behind(std::int32_t id, std::size_t room, const std::atomic<bool>* cancel);
  const SpeculationCounts& counts() const { return counts_; }
  static constexpr std::size_t kMostDrafts = 15;

 private:
  struct Record {
    double accepted = 0, tried = 0;
  };
  static std::size_t grown(std::size_t evidence, std::size_t by) {
    return evidence + by < Drafter::kMostEvidence ? evidence + by : Drafter::kMostEvidence;
  }
  double cost_of(std::size_t draft) const;
  std::size_t worthwhile(std::size_t room) const;
  bool settle(std::int32_t id);

  std::shared_ptr<Drafter> drafter_;
  std::array<Record, Drafter::kMostEvidence + 1> records_;
  double balance_;                    // in passes of one row
  std::vector<std::int32_t> drafts_;  // of the last pass
  std::size_t next_ = 0, evidence_ = 0;
  SpeculationCounts counts_;
};

}  // namespace loom
