// loom dna and loom evolve as a stranger meets them: two files, a training's record, pictures, wrong files, the same
// hash again.

#include <gtest/gtest.h>

#include "../support/program.h"

#include "core/json.h"

namespace loom::evolution_cli_test {
namespace {

using test::loom;
using test::Outcome;
using test::read_all;
using test::write_all;
using Args = std::vector<std::string>;

constexpr const char* kNetwork = R"({"seed":1,"layers":[
  {"type":"dense","input_height":2,"output_height":8,"activation":"tanh"},
  {"type":"dense","input_height":8,"output_height":8,"activation":"tanh"},
  {"type":"dense","input_height":8,"output_height":3,"activation":"linear"}]})";

class EvolutionCli : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_ / name; }
  void SetUp() override {
    std::string points = "x,y,kind\n";
    for (int i = 0; i < 90; ++i)
      points +=
          fmt::format("{},{},{}\n", (i * 7 % 13) / 13.0 + (i % 3 == 1), (i * 5 % 11) / 11.0 + (i % 3 == 2), i % 3);
    write_all(file("points.csv"), points);
    write_all(file("a.json"), kNetwork);
    Json other = parse_json(kNetwork).value();
    other["seed"] = 2;
    write_all(file("b.json"), dump_json(other));
  }
  // A training of four epochs.
  std::string trained(const std::string& name = "c", const std::string& more = "{}") {
    Json json =
        parse_json(
            R"({"data":{"format":"csv","path":"points.csv","class_ids":true},"seed":5,"epochs":4,"batch_size":16,"shuffle":true,
      "loss":"softmax_crossentropy","optimizer":{"name":"adam","learning_rate":0.01}})")
            .value();
    json["network"] = parse_json(kNetwork).value();
    json.merge_patch(parse_json(more).value());
    write_all(file(name + ".json"), dump_json(json));
    const Outcome run = loom({"train", file(name + ".json"), "-t", "1", "--quiet", "--overwrite"});
    EXPECT_EQ(run.status, 0) << run.err;
    return file(name + ".run");
  }
  static Json json_of(const Args& arguments) {
    Args all = arguments;
    all.push_back("--json");
    const Outcome run = loom(all);
    EXPECT_EQ(run.status, 0) << run.err;
    return parse_json(run.out).value_or(Json());
  }
  static void expect_error(const Args& arguments, int status, const Args& named) {
    const Outcome run = loom(arguments);
    EXPECT_EQ(run.status, status) << run.err;
    EXPECT_EQ(run.err.rfind("loom: ", 0), 0u) << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    for (const std::string& part : named)
      EXPECT_NE(run.err.find(part), std::string::npos) << run.err << "does not name " << part;
  }
  static std::size_t count(const std::string& text, const std::string& what) {
    std::size_t n = 0;
    for (std::size_t i = 0; (i = text.find(what, i)) != text.npos; i += what.size()) ++n;
    return n;
  }

  test::TempFolder folder_;
};

TEST_F(EvolutionCli, dna_compares_two_files) {  // E-04
  const Json same = json_of({"dna", file("a.json"), file("a.json")});
  EXPECT_EQ(same["overall_overlap"], 1.0);
  EXPECT_TRUE(same["logic_shifts"].empty());
  const Json other = json_of({"dna", file("a.json"), file("b.json")});
  EXPECT_LT(other["overall_overlap"].get<double>(), 0.9);
  EXPECT_EQ(other["layers"].size(), 3u);
  const Outcome table = loom({"dna", file("a.json"), file("b.json"), "--svg", file("map.svg")});
  EXPECT_EQ(table.status, 0) << table.err;
  for (const char* part : {"0,0,0,0", "dense", "similarity", "overall"})
    EXPECT_NE(table.out.find(part), std::string::npos) << table.out;
  const std::string svg = read_all(file("map.svg"));
  EXPECT_EQ(svg.rfind("<svg ", 0), 0u);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  const Outcome drift = loom({"dna", file("a.json"), file("b.json"), file("a.json")});
  EXPECT_EQ(drift.status, 0) << drift.err;
  EXPECT_NE(drift.out.find("similarity to the first network"), std::string::npos) << drift.out;
}

TEST_F(EvolutionCli, dna_refuses_wrong_files_and_usage) {  // E-04
  write_all(file("text.json"), "no network at all");
  write_all(file("torn.entity"), "LOOM");
  expect_error({"dna", file("a.json"), file("absent.json")}, 3, {"absent.json"});
  expect_error({"dna", file("text.json"), file("a.json")}, 3, {"text.json"});
  expect_error({"dna", file("a.json"), file("torn.entity")}, 3, {"torn.entity"});
  expect_error({"dna", file("a.json")}, 2, {"two networks", "--journal"});
  expect_error({"dna"}, 2, {"two networks", "--journal"});
  expect_error({"dna", file("a.json"), "--journal", file("c.run")}, 2, {"--journal"});
  for (const std::vector<std::string>& option :
       {std::vector<std::string>{"--nested"}, {"--lenient"}, {"--max-memory", "1G"}}) {
    std::vector<std::string> args = {"dna", "--journal", file("c.run")};
    args.insert(args.end(), option.begin(), option.end());
    expect_error(args, 2, {option[0], "no effect", "--journal"});
  }
  expect_error({"dna", file("a.json"), file("b.json"), file("a.json"), "--svg", file("x.svg")}, 2, {"--svg"});
}

TEST_F(EvolutionCli, dna_of_a_training_is_what_its_networks_say) {  // E-04
  const std::string run = trained();
  const Json record = json_of({"dna", "--journal", run});
  ASSERT_EQ(record["epochs"], 4);
  ASSERT_EQ(record["from_first"].size(), 5u);
  EXPECT_EQ(record["layers"], Json({"0,0,0,0", "0,0,0,1", "0,0,0,2"}));
  EXPECT_EQ(record["from_first"][1], record["from_previous"][1]) << "the epoch before the first is the start";
  // The networks themselves, compared by the other form of the command.
  const Json straight = json_of({"dna", run + "/dna.first.entity", run + "/dna.odd.entity", run + "/dna.even.entity"});
  EXPECT_EQ(straight["from_first"][1], record["from_first"][3]);
  EXPECT_EQ(straight["from_first"][2], record["from_first"][4]);
  EXPECT_EQ(straight["from_previous"][2], record["from_previous"][4]);
  EXPECT_EQ(json_of({"dna", "--journal", run + "/journal.jsonl"})["from_first"], record["from_first"]);

  const Outcome table = loom({"dna", "--journal", run, "--svg", file("drift.svg")});
  EXPECT_EQ(table.status, 0) << table.err;
  for (const char* part : {"epoch 1", "epoch 4", "in all", "0,0,0,2", "4 epochs, 3 layers, 0 logic shifts"})
    EXPECT_NE(table.out.find(part), std::string::npos) << table.out;
  const std::string svg = read_all(file("drift.svg"));
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
  EXPECT_EQ(count(svg, "<title>"), 15u) << "three layers by four epochs and their sum";
  // Replay proves the record too.
  EXPECT_EQ(loom({"replay", run}).status, 0);
  std::string lines = read_all(run + "/dna.jsonl");
  const std::size_t digit = lines.find("\"from_previous\":[0.") + 20;
  lines[digit] = lines[digit] == '9' ? '8' : '9';
  write_all(run + "/dna.jsonl", lines);
  expect_error({"replay", run}, 3, {"dna.jsonl: line 2", "/from_previous/0"});
}

TEST_F(EvolutionCli, logic_shifts_are_events_of_their_epoch) {  // E-04
  write_all(
      file("dna.jsonl"),
      R"({"event":"start","cells":[{"key":"0,0,0,0","kind":"dense","weights":4},{"key":"0,0,0,1","kind":"dense","weights":4}]}
{"event":"epoch","epoch":1,"step":5,"from_first":[0.1,0.2],"from_previous":[0.1,0.2],"since_first":[],"since_previous":[]}
{"event":"epoch","epoch":2,"step":10,"from_first":[0.9,0.2],"from_previous":[0.8,0.1],"since_first":[{"source":"0,0,0,1","target":"0,0,0,0","overlap":0.85}],"since_previous":[{"source":"0,0,0,1","target":"0,0,0,0","overlap":0.95}]}
{"event":"epoch","epoch":3,"step":15,"from_first":[0.9,0.2],"from_previous":[0.01,0],"since_first":[{"source":"0,0,0,1","target":"0,0,0,0","overlap":0.84}],"since_previous":[]}
)");
  const Outcome run = loom({"dna", "--journal", file("dna.jsonl"), "--svg", file("s.svg")});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_NE(run.out.find("epoch 2: logic shift: 0,0,0,0 is now what 0,0,0,1 was an epoch before (0.950000)\n"),
            std::string::npos)
      << run.out;
  EXPECT_NE(run.out.find("epoch 2: logic shift: 0,0,0,0 is now what 0,0,0,1 was at the start (0.850000)\n"),
            std::string::npos)
      << run.out;
  EXPECT_EQ(count(run.out, "logic shift:"), 2u) << "a shift that goes on is no second event";
  EXPECT_EQ(count(read_all(file("s.svg")), "stroke=\"#d6336c\""), 2u) << "a frame, and the legend's";
  const Json record = json_of({"dna", "--journal", file("dna.jsonl")});
  EXPECT_EQ(record["shifts_since_first"].size(), 2u);
  EXPECT_EQ(record["shifts_since_previous"][0]["epoch"], 2);
}

TEST_F(EvolutionCli, damaged_or_missing_records_are_told) {  // E-04
  expect_error({"dna", "--journal", file("nowhere")}, 3, {"nowhere"});
  const std::string run = trained("plain", R"({"keep_dna":false})");
  EXPECT_FALSE(is_file(run + "/dna.jsonl"));
  EXPECT_FALSE(is_file(run + "/dna.first.entity"));
  expect_error({"dna", "--journal", run}, 3, {"dna.jsonl", "keep_dna"});
  const std::string start = R"({"event":"start","cells":[{"key":"0,0,0,0","kind":"dense","weights":4}]})",
                    epoch = R"({"event":"epoch","epoch":1,"step":5,)";
  for (const std::string& bad :
       {std::string("text\n"), std::string("{}\n"), std::string("{\"event\":\"start\",\"cells\":[{}]}\n"),
        start + "\n" + R"({"event":"epoch","epoch":2})" + "\n",
        start + "\n" + epoch + R"("from_first":[],"from_previous":[0],"since_first":[],"since_previous":[]})" + "\n",
        start + "\n" + epoch + R"("from_first":["x"],"from_previous":[0],"since_first":[],"since_previous":[]})" + "\n",
        start + "\n" + epoch + R"("from_first":[0],"from_previous":[0],"since_first":[7],"since_previous":[]})" +
            "\n"}) {
    write_all(file("dna.jsonl"), bad);
    expect_error({"dna", "--journal", file("dna.jsonl")}, 3, {"dna.jsonl: line "});
  }
  write_all(file("dna.jsonl"), start + "\n");
  const Outcome none = loom({"dna", "--journal", file("dna.jsonl")});
  EXPECT_EQ(none.status, 0) << none.err;
  EXPECT_NE(none.out.find("no epoch has ended yet"), std::string::npos);
  expect_error({"dna", "--journal", file("dna.jsonl"), "--svg", file("x.svg")}, 2, {"0 epochs"});
  // Losing the record never ends a training.
  const std::string kept = trained();
  std::filesystem::remove(kept + "/dna.jsonl");
  const Outcome again = loom({"train", file("c.json"), "-t", "1", "--resume", "--epochs", "6"});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_NE(again.err.find("dna.jsonl is not continued"), std::string::npos) << again.err;
}

TEST_F(EvolutionCli, a_longer_training_that_goes_on_leaves_the_record_of_one_that_was_never_stopped) {  // E-04
  const std::string straight = trained("straight", R"({"epochs":7})");
  const std::string cut = trained("cut");
  EXPECT_EQ(loom({"train", file("cut.json"), "-t", "1", "--quiet", "--resume", "--epochs", "7"}).status, 0);
  EXPECT_EQ(read_all(cut + "/dna.jsonl"), read_all(straight + "/dna.jsonl"));
}

constexpr const char* kXor =
    R"({"task":"xor","population":24,"generations":6,"seed":3,"network":{"depth":1,"rows":1,"cols":2,"layers_per_cell":1,"seed":1,"layers":[
  {"z":0,"y":0,"x":0,"l":0,"type":"dense","input_height":2,"output_height":3,"bias":true,"activation":"tanh"},
  {"z":0,"y":0,"x":1,"l":0,"type":"dense","input_height":3,"output_height":1,"bias":true}]},
  "mutation":{"weight_perturb_rate":0.6,"weight_perturb_scale":0.6}})";

TEST_F(EvolutionCli, evolve_gives_the_same_hash_again_in_any_number_of_threads) {  // E-25
  write_all(file("xor.json"), kXor);
  const Json once = json_of({"evolve", file("xor.json"), "-t", "1", "--quiet", "-o", file("run")});
  ASSERT_TRUE(once.contains("hash"));
  EXPECT_EQ(once["task"], "xor");
  for (const char* threads : {"1", "2", "3"})
    EXPECT_EQ(json_of({"evolve", file("xor.json"), "-t", threads, "--quiet"})["hash"], once["hash"]) << threads;
  for (const char* name : {"best.entity", "lineage.jsonl", "state.json"})
    EXPECT_TRUE(is_file(file(std::string("run/") + name))) << name;
  EXPECT_EQ(loom({"dna", file("run/best.entity"), file("run/best.entity")}).status, 0);
  // In two parts.
  EXPECT_EQ(loom({"evolve", file("xor.json"), "-t", "1", "--quiet", "-o", file("parts"), "--generations", "2"}).status,
            0);
  const Json rest = json_of({"evolve", file("xor.json"), "-t", "2", "--quiet", "-o", file("parts"), "--resume"});
  EXPECT_EQ(rest["hash"], once["hash"]);
  EXPECT_EQ(read_all(file("parts/lineage.jsonl")), read_all(file("run/lineage.jsonl")));
}

TEST_F(EvolutionCli, evolve_keeps_runs_and_goes_on_with_its_own_alone) {  // E-25
  write_all(file("xor.json"), kXor);
  const Args run = {"evolve", file("xor.json"), "-t", "1", "--quiet", "-o", file("run")};
  const auto with = [&](const Args& more) {
    Args all = run;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  EXPECT_EQ(loom(with({"--generations", "3"})).status, 0);
  const std::string state = read_all(file("run/state.json")), lineage = read_all(file("run/lineage.jsonl"));
  expect_error(run, 2, {"run holds a run", "--resume", "--overwrite"});
  EXPECT_EQ(read_all(file("run/lineage.jsonl")), lineage);
  // Another config, whatever differs; more generations are welcome.
  Json other = parse_json(kXor).value();
  other["mutation"]["weight_perturb_rate"] = 0.5;
  write_all(file("xor.json"), dump_json(other));
  expect_error(with({"--resume"}), 3,
               {"state.json", "another run", "/config/mutation/weight_perturb_rate: 0.6 and 0.5"});
  other = parse_json(kXor).value();
  other["network"] = "net.json";
  write_all(file("xor.json"), dump_json(other));
  write_all(file("net.json"), dump_json(parse_json(kXor).value()["network"]));
  expect_error(with({"--resume"}), 3, {"/config/network"});
  // A network file that changed.
  Args named = {"evolve", file("xor.json"), "-t", "1", "--quiet", "-o", file("named"), "--generations", "2"};
  EXPECT_EQ(loom(named).status, 0);
  write_all(file("net.json"), dump_json(parse_json(kXor).value()["network"]) + " ");
  named.push_back("--resume");
  expect_error(named, 3, {"state.json", "/network: "});
  write_all(file("xor.json"), kXor);
  // An edited or torn state; a lineage that is shorter, another, or longer.
  std::string edited = state;
  const std::size_t digit = edited.find("\"generation\":3");
  ASSERT_NE(digit, edited.npos);
  edited[digit + 13] = '2';
  for (const std::string& bad : {edited, state.substr(0, state.size() / 2), std::string(), std::string("{}")}) {
    write_all(file("run/state.json"), bad);
    expect_error(with({"--resume"}), 3, {"state.json", "SHA-256"});
  }
  write_all(file("run/state.json"), state);
  write_all(file("run/lineage.jsonl"), lineage.substr(0, lineage.size() - 10));
  expect_error(with({"--resume"}), 3, {"lineage.jsonl: ends"});
  edited = lineage;
  edited[7] = edited[7] == '0' ? '1' : '0';
  write_all(file("run/lineage.jsonl"), edited);
  expect_error(with({"--resume"}), 3, {"lineage.jsonl: is not the journal"});
  write_all(file("run/lineage.jsonl"), lineage + "{\"id\":\"0.3.0\"}\n{");
  const Json rest = json_of(with({"--resume"}));
  const Json whole = json_of({"evolve", file("xor.json"), "-t", "2", "--quiet", "-o", file("whole")});
  EXPECT_EQ(rest["hash"], whole["hash"]);
  EXPECT_EQ(read_all(file("run/lineage.jsonl")), read_all(file("whole/lineage.jsonl")));
  // Killed before the first save: an empty lineage.
  std::filesystem::create_directory(file("early"));
  write_all(file("early/lineage.jsonl"), "");
  EXPECT_EQ(json_of({"evolve", file("xor.json"), "-t", "1", "--quiet", "-o", file("early"), "--resume"})["hash"],
            whole["hash"]);
  EXPECT_EQ(read_all(file("early/lineage.jsonl")), read_all(file("whole/lineage.jsonl")));
  // Without a state there is nothing to go on from.
  for (const char* path : {"run", "run/lineage.jsonl"})
    expect_error({"replay", file(path)}, 3, {"run/lineage.jsonl: the record of an evolution", "loom evolve CONFIG"});
  std::filesystem::remove(file("run/state.json"));
  expect_error(with({"--resume"}), 3, {"state.json is missing"});
  EXPECT_EQ(json_of(with({"--overwrite"}))["hash"], whole["hash"]);
}

TEST_F(EvolutionCli, evolve_refuses_bad_configs_by_their_key) {  // E-25
  const auto refuses = [&](const std::string& changes, const Args& named) {
    Json json = parse_json(kXor).value();
    json.merge_patch(parse_json(changes).value());
    write_all(file("bad.json"), dump_json(json));
    Args all = named;
    all.push_back("bad.json");
    SCOPED_TRACE(changes);
    expect_error({"evolve", file("bad.json"), "-t", "1", "--quiet"}, 3, all);
  };
  refuses(R"({"populaton":24})", {"populaton"});
  refuses(R"({"population":"many"})", {"population"});
  refuses(R"({"mutation":{"weight_perturb_rate":"x"}})", {"weight_perturb_rate"});
  refuses(R"({"mutation":{"weight_pertub_rate":0.5}})", {"weight_pertub_rate"});
  refuses(R"({"task":"xr"})", {"/task/name: \"xr\"", "xor"});
  refuses(R"({"task":{"name":"xor","path":"x"}})", {"/task", "path"});
  // A network that runs and cannot be scored is no network for the task.
  const auto layers = [](int inputs, int outputs) {
    return fmt::format(
        R"("network":{{"cols":1,"layers":[{{"z":0,"y":0,"x":0,"l":0,"type":"dense","input_height":{},"output_height":{}}}]}})",
        inputs, outputs);
  };
  refuses("{" + layers(2, 3) + "}", {"the network does not fit the task", "3 outputs"});
  refuses(R"({"network":{"cols":1,"layers":[]}})", {"the network does not fit the task", "2 outputs"});
  refuses(R"({"task":{"name":"cart_pole","episodes":2,"steps":9},)" + layers(4, 3) + "}",
          {"the network does not fit the task", "3 outputs"});
  write_all(file("three.csv"), "x,y,class\n1,2,a\n2,3,b\n3,4,c\n");
  const std::string csv = R"({"task":{"name":"csv","path":")" + file("three.csv");
  for (const int outputs : {1, 2})
    refuses(csv + R"("},)" + layers(2, outputs) + "}", {"the network does not fit the task", "3 classes"});
  write_all(file("three.csv"), "x,y,z\n1,2,3\n2,3,4\n");
  refuses(csv + R"(","values":true,"score":"cross_entropy"},)" + layers(2, 1) + "}", {"cross_entropy"});
  write_all(file("torn.json"), "{");
  expect_error({"evolve", file("torn.json")}, 3, {"torn.json"});
  expect_error({"evolve", file("absent.json")}, 3, {"absent.json"});
  Json incomplete = parse_json(kXor).value();
  incomplete["network"].erase("rows");
  write_all(file("xor.json"), dump_json(incomplete));
  expect_error({"evolve", file("xor.json")}, 3, {"xor.json: network: /rows"});
  write_all(file("xor.json"), kXor);
  expect_error({"evolve", file("xor.json"), "--resume"}, 2, {"--output"});
  expect_error({"evolve", file("xor.json"), "--resume", "-o", file("empty")}, 3,
               {"empty: holds no evolution to resume"});
}

TEST_F(EvolutionCli, a_run_whose_members_cannot_be_joined_ends_with_a_warning) {  // E-31
  write_all(file("linked.json"), R"({"task":"xor","population":4,"generations":2,"ensemble":true,"network":{"layers":[
    {"type":"dense","input_height":2,"output_height":2},{"is_remote_link":true,"target_z":0,"target_y":0,"target_x":0,"target_l":0},
    {"type":"dense","input_height":2,"output_height":1}]},
    "mutation":{"node_rate":0,"layer_toggle_rate":0,"connection_add_rate":0,"connection_drop_rate":0}})");
  const Args args = {"evolve", file("linked.json"), "-t", "1", "-o", file("run")};
  Outcome run = loom(args);
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_NE(run.err.find("warning: no ensemble: 0 of 4 members can be joined; 0."), std::string::npos) << run.err;
  EXPECT_TRUE(std::filesystem::exists(file("run/best.entity")));
  Args again = args;
  again.insert(again.end(), {"--resume", "--json"});
  const Json json = json_of(again);
  EXPECT_TRUE(json["ensemble"].is_null()) << dump_json(json);
}

TEST_F(EvolutionCli, a_run_without_a_score_names_no_best_network) {  // E-25
  Json layers = Json::array();
  for (int i = 0; i < 9; ++i)
    layers.push_back({{"type", "dense"}, {"input_height", 2}, {"output_height", i < 8 ? 2 : 1}});
  const Json network{{"init", "uniform"}, {"init_scale", 1e6}, {"layers", std::move(layers)}};  // overflows on the way
  const Json mutation{{"node_rate", 0}, {"layer_toggle_rate", 0}, {"activation_rate", 0}, {"connection_add_rate", 0}};
  write_all(
      file("xor.json"),
      dump_json(
          {{"task", "xor"}, {"population", 6}, {"generations", 2}, {"network", network}, {"mutation", mutation}}));
  const Outcome run = loom({"evolve", file("xor.json"), "-t", "1", "-o", file("run")});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_FALSE(std::filesystem::exists(file("run/best.entity")));
  EXPECT_EQ(run.out.find("best.entity"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("no network has a score"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("lineage.jsonl, state.json"), std::string::npos) << run.out;
}

}  // namespace
}  // namespace loom::evolution_cli_test
