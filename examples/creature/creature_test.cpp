// That the animal learns, forgets little, feels, comes back as it left, and is the same everywhere.

#include <filesystem>
#include <memory>

#include "../../tests/support/program.h"
#include "core/json.h"
#include "core/little_endian.h"
#include "core/philox.h"
#include "creature_c.h"
#include "creature_page.h"
#include "demo.h"
#include "io/entity/entity.h"
#include "io/entity/entity_reseal.h"
#include "io/network_file.h"
#include "network/spec/spec.h"
#include "talk.h"

namespace creature {
namespace {

using loom::test::TempFolder;

#define OK(...)                                         \
  do {                                                  \
    const auto ok_result = (__VA_ARGS__);               \
    ASSERT_TRUE(ok_result) << ok_result.error().text(); \
  } while (false)

Creature hatch(std::uint32_t seed = 7, const Machine& machine = {}) {
  return std::move(Creature::hatch(seed, machine).value());
}

void teach_commands(Creature& c, int rounds = 2) {
  for (int round = 0; round < rounds; ++round)
    for (const Command& command : demo_commands()) OK(c.teach(command.words, Touch::none, command.behaviour));
}

// Lives through lines and returns what was seen.
std::string live(Creature& c, std::span<const std::string> lines) {
  std::string seen;
  View view({}, [&](std::string_view text) { seen += text; });
  Talk talk(c, view, "");
  for (const std::string& line : lines) EXPECT_TRUE(talk.line(line)) << line;
  return seen;
}

const std::vector<std::string> kLife = {"hello",      "good",         "come here -> come",
                                        "pet",        "poke -> spin", "come here",
                                        "good",       "bath time",    "poke",
                                        "what a day", "bad",          "wait",
                                        "tickle",     "feed",         "dance now",
                                        "/name Momo", "pet",          "bath time",
                                        "wait",       "come here",    "sing -> sing",
                                        "wait",       "here come",    "bad",
                                        "feed",       "good"};

TEST(Creature, has_its_instincts_when_it_hatches_and_no_words) {
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    Creature c = hatch(seed);
    EXPECT_GT(c.guess("", Touch::pet)->of(Behaviour::purr), 0.9) << seed;
    EXPECT_GT(c.guess("", Touch::poke)->of(Behaviour::hide), 0.9) << seed;
    EXPECT_GT(c.guess("", Touch::feed)->of(Behaviour::eat), 0.9) << seed;
    EXPECT_LT(c.guess("come here")->of(Behaviour::come), Creature::kSure) << seed;
  }
}

TEST(Creature, learns_five_commands_in_ten_lessons_and_understands_most_other_forms) {
  double before = 0, taught = 0, otherwise = 0, fooled = 0;
  constexpr int kSeeds = 20;
  const std::vector<std::string> strange = {"good weather", "hello there", "the cat sat", "where is my hat",
                                            "xyzzy",        "purple",      "lunch",       "tomorrow"};
  for (std::uint32_t seed = 1; seed <= kSeeds; ++seed) {
    Creature c = hatch(seed);
    before += *obedience(c, demo_commands()) / kSeeds;
    teach_commands(c);
    const double right = *obedience(c, demo_commands());
    EXPECT_GE(right, 0.9) << seed;
    taught += right / kSeeds, otherwise += *obedience(c, demo_variants()) / kSeeds;
    for (const std::string& words : strange) {
      const Guess guess = *c.guess(words);
      fooled += (guess.of(guess.best()) >= Creature::kSure) / static_cast<double>(strange.size() * kSeeds);
    }
  }
  std::printf("obeys %.3f before, %.3f after, %.3f said otherwise; sure of strange words %.3f\n", before, taught,
              otherwise, fooled);
  EXPECT_LE(before, 0.3);
  EXPECT_GE(taught, 0.98);
  EXPECT_GE(otherwise, 0.85);
  EXPECT_LE(fooled, 0.2);
}

TEST(Creature, praise_makes_a_deed_likelier_and_scolding_rarer) {
  Creature c = hatch();
  OK(c.hear("what can you do"));
  const Behaviour first = c.last()->behaviour;
  const Lesson scolded = **c.scold();
  EXPECT_LT(scolded.after.of(first), scolded.before.of(first));
  OK(c.hear("what can you do"));
  const Behaviour second = c.last()->behaviour;
  const Lesson praised = **c.praise();
  EXPECT_GT(praised.after.of(second), 2 * praised.before.of(second));
  EXPECT_NE(praised.hash_before, praised.hash_after);
  EXPECT_LT(praised.last.gap, praised.first.gap);
}

TEST(Creature, nothing_is_learned_from_praise_for_nothing) {
  Creature c = hatch();
  const std::string hash = c.brain().hash();
  EXPECT_FALSE(*c.praise());
  OK(c.wait());
  EXPECT_FALSE(*c.scold());
  EXPECT_EQ(c.brain().hash(), hash);
}

TEST(Creature, its_mood_reacts_to_touch) {
  Creature c = hatch();
  Mood before = c.mood();
  OK(c.feel(Touch::pet));
  EXPECT_GT(c.mood().joy, before.joy);
  EXPECT_GT(c.mood().trust, before.trust);
  before = c.mood();
  OK(c.feel(Touch::poke));
  EXPECT_LT(c.mood().joy, before.joy);
  EXPECT_LT(c.mood().trust, before.trust);
  before = c.mood();
  OK(c.feel(Touch::feed));
  EXPECT_LT(c.mood().hunger, before.hunger);
  for (int i = 0; i < 100; ++i) {
    OK(c.feel(i % 3 == 0 ? Touch::tickle : Touch::poke));
    for (const int v : c.mood().values()) ASSERT_TRUE(v >= 0 && v <= 1000);
  }
  EXPECT_EQ(tempered(c.mood(), {Behaviour::dance}, Touch::none).temper, Temper::shy);
}

TEST(Creature, words_become_a_sign_of_what_follows_and_move_its_mood) {
  Creature c = hatch();
  for (int i = 0; i < 4; ++i) {
    OK(c.hear("bath time"));
    OK(c.feel(Touch::poke));
  }
  for (int i = 0; i < 4; ++i) {
    OK(c.hear("dinner is ready"));
    OK(c.feel(Touch::feed));
  }
  EXPECT_LT(c.guess("bath time")->expectation, -500);
  EXPECT_GT(c.guess("dinner is ready")->expectation, 400);
  const int joy = c.mood().joy;
  const Moment afraid = *c.hear("bath time");
  EXPECT_LT(c.mood().joy, joy);
  EXPECT_EQ(afraid.deed.behaviour, Behaviour::hide);
}

TEST(Creature, an_instinct_can_be_overcome) {
  Creature c = hatch();
  OK(c.teach("", Touch::poke, Behaviour::dance));
  OK(c.teach("", Touch::poke, Behaviour::dance));
  OK(c.teach("", Touch::poke, Behaviour::dance));
  EXPECT_EQ(c.guess("", Touch::poke)->best(), Behaviour::dance);
  EXPECT_EQ(c.guess("", Touch::pet)->best(), Behaviour::purr);
}

TEST(Creature, new_words_do_not_wipe_out_old_ones) {
  Creature c = hatch();
  teach_commands(c);
  for (const auto& [words, behaviour] : std::vector<std::pair<std::string, Behaviour>>{{"good night", Behaviour::sleep},
                                                                                       {"ball", Behaviour::play},
                                                                                       {"cuddle", Behaviour::purr},
                                                                                       {"lunch", Behaviour::eat},
                                                                                       {"thunder", Behaviour::hide}})
    for (int i = 0; i < 4; ++i) OK(c.teach(words, Touch::none, behaviour));
  EXPECT_GE(*obedience(c, demo_commands()), 0.9);
}

TEST(Creature, dreams_of_what_it_learned) {
  Creature c = hatch();
  OK(c.teach("come here", Touch::none, Behaviour::come));
  std::optional<Moment> asleep;
  for (int i = 0; i < 300 && !asleep; ++i) {
    const Moment m = *c.wait();
    if (m.deed.behaviour == Behaviour::sleep) asleep = m;
  }
  ASSERT_TRUE(asleep && asleep->lesson);
  EXPECT_EQ(asleep->lesson->kind, Lesson::Kind::dreamt);
  EXPECT_GT(asleep->lesson->after.of(Behaviour::come), asleep->lesson->before.of(Behaviour::come));
}

TEST(Creature, remembers_a_limited_number_of_things) {
  Creature c = hatch();
  for (std::size_t i = 0; i < Memories::kCapacity + 6; ++i)
    OK(c.teach(fmt::format("word {}", i), Touch::none, Behaviour::sit));
  EXPECT_EQ(c.memories().all().size(), Memories::kCapacity);
  EXPECT_EQ(c.memories().all().front().words, "word 6");
  OK(c.teach("word 6", Touch::none, Behaviour::spin));
  EXPECT_EQ(c.memories().all().back().words, "word 6");
  EXPECT_EQ(c.memories().all().size(), Memories::kCapacity);
}

TEST(Creature, comes_back_as_it_left_wherever_its_life_was_cut) {
  const TempFolder folder;
  Creature whole = hatch();
  const std::string seen = live(whole, kLife);
  OK(whole.save(folder / "whole.entity"));
  for (std::size_t cut = 0; cut <= kLife.size(); cut += 3) {
    Creature first = hatch();
    const std::string before = live(first, std::span(kLife).first(cut));
    OK(first.save(folder / "half.entity"));
    auto again = Creature::load(folder / "half.entity", {});
    ASSERT_TRUE(again) << again.error().text();
    const std::string after = live(*again, std::span(kLife).subspan(cut));
    EXPECT_EQ(before + after, seen) << cut;
    EXPECT_EQ(again->brain().hash(), whole.brain().hash()) << cut;
    OK(again->save(folder / "half.entity"));
    EXPECT_EQ(loom::test::read_all(folder / "half.entity"), loom::test::read_all(folder / "whole.entity")) << cut;
  }
}

TEST(Creature, is_the_same_on_every_instruction_set_and_with_any_number_of_threads) {
  std::string seen, hash;
  for (const loom::Isa isa : loom::usable_isas())
    for (const int threads : {1, 2, 3}) {
      Creature c = hatch(7, {threads, isa});
      const std::string now = live(c, kLife);
      if (seen.empty()) seen = now, hash = c.brain().hash();
      EXPECT_EQ(now, seen) << loom::name(isa) << " " << threads;
      EXPECT_EQ(c.brain().hash(), hash) << loom::name(isa) << " " << threads;
    }
}

TEST(Creature, the_demonstration_ends_with_the_brain_of_the_documentation) {
  Creature c = hatch(7);
  std::string seen;
  View view({}, [&](std::string_view text) { seen += text; });
  OK(demonstrate(c, view));
  const std::string doc = loom::test::read_all(loom::test::source_path("docs/guide/creature.md"));
  EXPECT_NE(doc.find(c.brain().hash()), doc.npos) << "docs/guide/creature.md should say " << c.brain().hash();
}

TEST(Creature, its_mind_is_a_network_file_like_any_other) {
  const TempFolder folder;
  Creature c = hatch();
  OK(c.save(folder / "mind.entity"));
  const auto loaded = loom::load_network(folder / "mind.entity");
  ASSERT_TRUE(loaded) << loaded.error().text();
  EXPECT_EQ(loaded->network.settings.seed, 7u);
}

// Every one of these is refused, and stays as it was.
void expect_refused(const std::string& path, const std::string& what) {
  const std::string before = loom::test::read_all(path);
  const auto loaded = Creature::load(path, {});
  EXPECT_FALSE(loaded) << what;
  const std::string message = loaded ? "" : loaded.error().text();
  EXPECT_NE(message.find(path), std::string::npos) << what << ": " << message;
  EXPECT_EQ(loom::test::read_all(path), before) << what;
}

TEST(Creature, torn_and_foreign_minds_are_refused) {
  const TempFolder folder;
  const std::string path = folder / "mind.entity";
  Creature c = hatch();
  live(c, kLife);
  OK(c.save(path));
  const std::string whole = loom::test::read_all(path);
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{7}, std::size_t{64}, std::size_t{4096}, whole.size() / 2, whole.size() - 1}) {
    loom::test::write_all(path, whole.substr(0, length));
    expect_refused(path, fmt::format("cut to {}", length));
  }
  for (std::size_t at = 0; at < whole.size(); at += 977) {
    std::string bent = whole;
    bent[at] = static_cast<char>(bent[at] ^ 0x10);
    loom::test::write_all(path, bent);
    expect_refused(path, fmt::format("byte {} bent", at));
  }
  loom::test::write_all(path, "this is my diary");
  expect_refused(path, "a text");
  OK(loom::save_network(path, c.brain().network()));
  expect_refused(path, "a network without a life");
  EXPECT_FALSE(Creature::load(folder.path(), {}));
  EXPECT_FALSE(Creature::load(folder / "nobody.entity", {}));
  EXPECT_FALSE(c.save(folder / "no such folder/mind.entity"));
}

// A mind with another state, or another network, sealed as it should be.
void seal(const std::string& path, const loom::Network& network, std::string state) {
  const auto bytes = loom::network_to_entity(network).value();
  const auto reader = loom::EntityReader::parse(bytes).value();
  loom::EntityWriter writer;
  OK(writer.add_all(reader));
  OK(writer.add_text("creature", 0, 0, std::move(state)));
  OK(writer.write(path));
}

TEST(Creature, sealed_minds_that_make_no_sense_are_refused) {
  const TempFolder folder;
  const std::string path = folder / "mind.entity";
  Creature c = hatch();
  live(c, kLife);
  OK(c.save(path));
  std::string state;
  {
    const auto reader = loom::EntityReader::open(path).value();
    const auto section = reader.section("creature").value();
    state.assign(reinterpret_cast<const char*>(section.data()), section.size());
  }
  const loom::Json good = loom::parse_json(state).value();
  const auto with = [&](const char* key, loom::Json value) {
    loom::Json changed = good;
    changed[key] = std::move(value);
    return loom::dump_json(changed);
  };
  seal(path, c.brain().network(), loom::dump_json(good));
  ASSERT_TRUE(Creature::load(path, {}));
  const loom::Json memory{{"words", "come"}, {"touch", ""}, {"do", "fly"}};
  const std::vector<std::string> states = {
      "",
      "[]",
      "{}",
      "{\"format\":",
      with("format", 2),
      with("name", 5),
      with("name", "a\nb"),
      with("name", std::string(99, 'x')),
      with("moments", -1),
      with("lessons", 1ll << 40),
      with("mood", {1, 2, 3}),
      with("mood", {0, 0, 0, 0, 1001}),
      with("mood", {0, 0, 0.5, 0, 1}),
      with("memories", 1),
      with("memories", loom::Json::array({memory})),
      with("memories", loom::Json(std::vector<loom::Json>(65, loom::Json{{"words", "a"}, {"touch", ""}}))),
      with("memories", loom::Json::array({{{"words", "A!"}, {"touch", ""}}})),
      with("memories", loom::Json::array({{{"words", "a"}, {"touch", "kick"}}})),
      with("memories", loom::Json::array({{{"words", "a"}, {"touch", ""}, {"outcome", 2000}}})),
      with("last", 3),
      with("last", loom::Json::object())};
  for (const std::string& s : states) {
    seal(path, c.brain().network(), s);
    expect_refused(path, s.substr(0, 100));
  }
  const auto other = loom::network_from_json(
      R"({"id":"creature","seed":7,"input_shape":[266],"layers":[{"type":"dense","input_height":266,"output_height":11,"bias":true}]})");
  ASSERT_TRUE(other);
  seal(path, other->network, loom::dump_json(good));
  expect_refused(path, "another network");
  // An infinite weight under good hashes.
  OK(c.save(path));
  std::vector<std::byte> bytes;
  for (const char byte : loom::test::read_all(path)) bytes.push_back(static_cast<std::byte>(byte));
  const std::uint64_t weights = loom::EntityReader::parse(bytes)->find("weights")->offset;
  loom::store_le(bytes.data() + weights + 40, std::uint32_t{0x7f800000});
  loom::reseal(bytes);
  OK(loom::write_file_atomically(path, bytes));
  expect_refused(path, "a weight that is not finite");
}

TEST(Senses, words_are_tidied) {
  EXPECT_EQ(tidy("  Come, HERE!!  "), "come here");
  EXPECT_EQ(tidy("don't"), "don't");
  EXPECT_EQ(tidy("\x1b[2J\x07"), "2j");
  EXPECT_EQ(tidy("süß!"), "süß");
  EXPECT_EQ(tidy("a\xff"), "a");
  EXPECT_EQ(tidy("?!"), "");
  std::string umlauts = "a";
  for (int i = 0; i < 200; ++i) umlauts += "ö";
  EXPECT_TRUE(loom::is_utf8(tidy(umlauts)));
  EXPECT_LE(tidy(umlauts).size(), kMaxWordBytes);
  EXPECT_EQ(tidy(tidy(umlauts)), tidy(umlauts));
}

TEST(Senses, the_order_of_words_does_not_matter_and_silence_is_something) {
  std::array<float, kInputs> a, b;
  sense({"come here", Touch::none, {}}, a);
  sense({"here come", Touch::none, {}}, b);
  // Equal but for the rounding of their sums.
  for (std::size_t i = 0; i < kInputs; ++i) EXPECT_NEAR(a[i], b[i], 1e-6) << i;
  sense({"", Touch::none, {}}, a);
  EXPECT_GT(a[kWordInputs], 0);
  sense({"", Touch::poke, {}}, b);
  EXPECT_EQ(b[kWordInputs], 0);
}

TEST(Face, every_picture_has_its_columns) {
  for (std::size_t b = 0; b < kBehaviours; ++b)
    for (std::size_t frame = 0; frame < kFrames; ++frame)
      for (const bool startled : {false, true})
        for (const std::string& line : picture({.behaviour = static_cast<Behaviour>(b), .startled = startled}, frame))
          EXPECT_EQ(columns(line), kPictureColumns) << kBehaviourTexts[b].name << " " << line;
}

// The program itself.
loom::test::Outcome creature(std::vector<std::string> arguments, const std::string& input = {}) {
  arguments.insert(arguments.begin(), loom::test::binary_path("bin/creature"));
  loom::test::Program program(std::move(arguments));
  program.start();
  if (!input.empty()) program.send(input);
  return program.finish();
}

TEST(Program, a_script_a_pipe_and_two_halves_with_a_restart_give_one_brain) {
  const TempFolder folder;
  std::string first, second;
  for (std::size_t i = 0; i < kLife.size(); ++i) (i < 11 ? first : second) += kLife[i] + "\n";
  loom::test::write_all(folder / "life.txt", "# a life\n\n" + first + second);
  const auto script = creature({"--script", folder / "life.txt", "--mind", folder / "a.entity", "--threads", "2"});
  ASSERT_EQ(script.status, 0) << script.err;
  EXPECT_EQ(script.out.find('\033'), std::string::npos);
  const auto one = creature({"--mind", folder / "b.entity", "--seed", "7"}, first);
  ASSERT_EQ(one.status, 0) << one.err;
  const auto two = creature({"--mind", folder / "b.entity", "--isa", "scalar"}, second);
  ASSERT_EQ(two.status, 0) << two.err;
  EXPECT_NE(two.out.find("Remembered: "), std::string::npos);
  EXPECT_EQ(loom::test::read_all(folder / "a.entity"), loom::test::read_all(folder / "b.entity"));
  EXPECT_EQ(script.out.substr(script.out.rfind("  brain ")), two.out.substr(two.out.rfind("  brain ")));
  EXPECT_EQ(creature({"--script", folder / "life.txt"}).out, creature({}, first + second).out);
}

TEST(Program, lives_the_first_day_as_the_documentation_shows_it) {
  const auto day = creature({"--script", loom::test::source_path("examples/creature/first_day.txt")});
  ASSERT_EQ(day.status, 0) << day.err;
  const std::string doc = loom::test::read_all(loom::test::source_path("docs/guide/creature.md"));
  EXPECT_NE(doc.find("```text\n" + day.out + "```"), doc.npos) << "docs/guide/creature.md should show\n" << day.out;
}

TEST(Program, a_diary_leads_to_the_same_brain) {
  const TempFolder folder;
  std::string life;
  for (const std::string& line : kLife) life += line + "\n";
  const auto lived = creature({"--diary", folder / "diary.txt"}, life);
  ASSERT_EQ(lived.status, 0) << lived.err;
  EXPECT_EQ(creature({"--script", folder / "diary.txt"}).out, lived.out);
}

TEST(Program, an_interrupt_saves_the_mind) {
  const TempFolder folder;
  loom::test::Program program({loom::test::binary_path("bin/creature"), "--mind", folder / "mind.entity"});
  program.start();
  program.send("come here -> come\n");
  ASSERT_TRUE(program.wait_for_text("comes right up to you"));
  program.interrupt();
  const auto outcome = program.finish();
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("kept in"), std::string::npos);
  const auto kept = Creature::load(folder / "mind.entity", {});
  ASSERT_TRUE(kept) << kept.error().text();
  EXPECT_EQ(kept->lessons(), 1u);
}

TEST(Program, says_what_is_wrong_and_leaves_files_alone) {
  const TempFolder folder;
  loom::test::write_all(folder / "letter.txt", "dear diary");
  const auto foreign = creature({"--mind", folder / "letter.txt"}, "pet\n");
  EXPECT_EQ(foreign.status, 1);
  EXPECT_NE(foreign.err.find("left as it is"), std::string::npos) << foreign.err;
  EXPECT_EQ(loom::test::read_all(folder / "letter.txt"), "dear diary");
  EXPECT_EQ(creature({"--mind", folder.path()}, "pet\n").status, 1);
  EXPECT_EQ(creature({"--mind", folder / "none/mind.entity"}, "pet\n").status, 1);
  EXPECT_EQ(creature({"--wings"}).status, 1);
  EXPECT_EQ(creature({"--seed"}).status, 1);
  EXPECT_EQ(creature({"--seed", "4294967296"}).status, 1);
  EXPECT_EQ(creature({"--threads", "0"}).status, 1);
  EXPECT_EQ(creature({"--isa", "abacus"}).status, 1);
  EXPECT_EQ(creature({"--script", folder / "nothing.txt"}).status, 1);
  const auto help = creature({"--help"});
  EXPECT_EQ(help.status, 0);
  for (const char* option : {"--mind", "--script", "--seed", "--demo", "--diary", "--no-colour"})
    EXPECT_NE(help.out.find(option), std::string::npos) << option;
  ASSERT_EQ(creature({"--mind", folder / "mind.entity", "--seed", "3"}, "pet\n").status, 0);
  const auto other = creature({"--mind", folder / "mind.entity", "--seed", "4"}, "pet\n");
  EXPECT_EQ(other.status, 1);
  EXPECT_NE(other.err.find("seed 3"), std::string::npos) << other.err;
}

// The C face and the terminal program: one file lives in both.
struct Free {
  void operator()(creature_t* pet) const { creature_free(pet); }
};
using Pet = std::unique_ptr<creature_t, Free>;

std::string last_hash(const std::string& text) {
  const std::size_t at = text.rfind("brain ");
  return at == text.npos ? "" : text.substr(at + 6, 64);
}

TEST(CFace, a_brain_file_lives_in_the_program_and_through_c) {
  const TempFolder folder;
  const std::string morning = "come here\ncome here -> come\npet\n", noon = "oh, do come!\ngood\npoke -> dance\n";
  // Runs one day three times: in the program, in the program and then through C, through C and then in the program.
  const auto whole = creature({"--mind", folder / "whole.entity"}, morning + noon);
  ASSERT_EQ(whole.status, 0) << whole.err;
  const auto first = creature({"--mind", folder / "first.entity"}, morning);
  ASSERT_EQ(first.status, 0) << first.err;
  const Pet moved(creature_load((folder / "first.entity").c_str()));
  ASSERT_TRUE(moved) << creature_last_error();
  EXPECT_EQ(creature_hash(moved.get()), last_hash(first.out));
  creature_deed deed{};
  ASSERT_TRUE(creature_hear(moved.get(), "oh, do come!", &deed)) << creature_last_error();
  EXPECT_STREQ(deed.behaviour, "come");
  EXPECT_GT(deed.sureness, 400);
  ASSERT_TRUE(creature_react(moved.get(), 1));
  ASSERT_TRUE(creature_teach(moved.get(), "poke", "dance"));
  EXPECT_EQ(creature_hash(moved.get()), last_hash(whole.out));
  ASSERT_TRUE(creature_save(moved.get(), (folder / "moved.entity").c_str()));
  EXPECT_EQ(loom::test::read_all(folder / "moved.entity"), loom::test::read_all(folder / "whole.entity"));

  const Pet hatched(creature_hatch(7));
  ASSERT_TRUE(hatched) << creature_last_error();
  ASSERT_TRUE(creature_hear(hatched.get(), "come here", nullptr));
  ASSERT_TRUE(creature_teach(hatched.get(), "come here", "come"));
  ASSERT_TRUE(creature_feel(hatched.get(), "pet", &deed));
  EXPECT_EQ(deed.has_learned, 1);
  ASSERT_TRUE(creature_save(hatched.get(), (folder / "hatched.entity").c_str()));
  const auto second = creature({"--mind", folder / "hatched.entity"}, noon);
  ASSERT_EQ(second.status, 0) << second.err;
  EXPECT_EQ(last_hash(second.out), last_hash(whole.out));
  EXPECT_EQ(loom::test::read_all(folder / "hatched.entity"), loom::test::read_all(folder / "whole.entity"));
}

TEST(CFace, reports_errors_and_leaves_the_brain_as_it_was) {
  const TempFolder folder;
  loom::test::write_all(folder / "letter.txt", "dear diary");
  const auto fails = [](bool succeeded, std::string_view with) {
    EXPECT_FALSE(succeeded);
    EXPECT_NE(std::string_view(creature_last_error()).find(with), std::string_view::npos) << creature_last_error();
  };
  fails(creature_load((folder / "letter.txt").c_str()) != nullptr, "letter.txt");
  fails(creature_load((folder / "none.entity").c_str()) != nullptr, "none.entity");
  fails(creature_load(nullptr) != nullptr, "path is NULL");
  const Pet pet(creature_hatch(3));
  ASSERT_TRUE(pet);
  const std::string hash = creature_hash(pet.get());
  fails(creature_feel(pet.get(), "kick", nullptr) != 0, "touch kick: expected pet, tickle, poke or feed");
  fails(creature_teach(pet.get(), "fly", "fly") != 0, "behaviour fly");
  fails(creature_teach(pet.get(), "", "come") != 0, "say what it should react to");
  fails(creature_hear(pet.get(), nullptr, nullptr) != 0, "words is NULL");
  fails(creature_hear(nullptr, "come", nullptr) != 0, "creature or words is NULL");
  fails(creature_save(pet.get(), (folder / "none/mind.entity").c_str()) != 0, "mind.entity");
  fails(creature_hash(nullptr) != nullptr, "creature is NULL");
  EXPECT_EQ(creature_hash(pet.get()), hash);
  creature_free(nullptr);
}

TEST(CFace, a_c_program_lives_the_first_day_of_the_documentation) {
  const std::string path = loom::test::binary_path("bin/creature_first_day");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "this build has no shared libraries";
  const TempFolder folder;
  loom::test::Program program(
      {path, loom::test::source_path("examples/creature/first_day.txt"), folder / "mind.entity"});
  program.start();
  const auto lived = program.finish();
  ASSERT_EQ(lived.status, 0) << lived.err;
  const std::string doc = loom::test::read_all(loom::test::source_path("docs/guide/creature.md"));
  // From the end of the day, not of the demonstration: the line with a whole hash after "curls up".
  const std::string hash = last_hash(doc.substr(0, doc.find("## How it works")));
  EXPECT_EQ(lived.out.find("brain " + hash), lived.out.rfind("brain ") - 71) << lived.out;
  EXPECT_EQ(last_hash(lived.out), hash) << lived.out;
}

TEST(Page, shows_the_texts_of_the_terminal_and_keeps_its_brain) {
  const TempFolder folder;
  EXPECT_EQ(creature_page_line("hello"), nullptr);
  EXPECT_STREQ(creature_page_error(), "no creature has hatched");
  EXPECT_STREQ(creature_page_hash(), "");
  ASSERT_NE(creature_page_hatch(7), nullptr) << creature_page_error();
  Creature terminal = hatch();
  std::string page;
  for (const std::string& line : kLife) {
    const char* const seen = creature_page_line(line.c_str());
    ASSERT_NE(seen, nullptr) << creature_page_error();
    page += seen;
  }
  EXPECT_EQ(page, live(terminal, kLife));
  const std::string hash = terminal.brain().hash();
  EXPECT_EQ(creature_page_hash(), hash);
  EXPECT_STREQ(creature_page_name(), "Momo");

  // The files are equal; one that holds no brain leaves the creature as it is.
  const std::string kept = folder / "page.entity";
  ASSERT_EQ(creature_page_keep(kept.c_str()), 1) << creature_page_error();
  OK(terminal.save(folder / "terminal.entity"));
  EXPECT_EQ(loom::test::read_all(kept), loom::test::read_all(folder / "terminal.entity"));
  loom::test::write_all(folder / "letter.txt", "dear diary");
  EXPECT_EQ(creature_page_wake((folder / "letter.txt").c_str()), nullptr);
  EXPECT_NE(std::string_view(creature_page_error()).find("letter.txt"), std::string_view::npos);
  EXPECT_EQ(creature_page_keep((folder / "none/page.entity").c_str()), 0);
  EXPECT_EQ(creature_page_hash(), hash);
  ASSERT_NE(creature_page_hatch(3), nullptr);
  EXPECT_NE(creature_page_hash(), hash);
  const char* const greeting = creature_page_wake(kept.c_str());
  ASSERT_NE(greeting, nullptr) << creature_page_error();
  EXPECT_NE(std::string_view(greeting).find("Its mind is in this browser."), std::string_view::npos) << greeting;
  EXPECT_EQ(creature_page_hash(), hash);
}

TEST(Program, lives_through_noise) {
  std::string noise;
  const loom::RandomStream stream{1, loom::RandomDomain::Noise, 0, 1};
  for (std::uint64_t i = 0; i < 20000; ++i) noise += static_cast<char>(stream.below(i, 256));
  noise += std::string(30000, 'a') + "\n-> come\n->\n/teach\n/teach  -> \n/ \n/name\n/name \xff\n/save\n" +
           std::string(200, '/');
  EXPECT_EQ(creature({}, noise).status, 0);
}

}  // namespace
}  // namespace creature
