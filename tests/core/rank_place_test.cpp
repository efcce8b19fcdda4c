#include "core/processes/rank_place.h"

#include <gtest/gtest.h>

#include <map>

#include "core/processes/port.h"
#include "tests/recorded_cases.h"

namespace harness {
namespace {

using Variables = std::map<std::string, std::string>;

RankPlace place_in(const Variables& variables) {
  return rank_place([&](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  });
}

const Variables kTorchrun = {{"RANK", "3"},
                             {"LOCAL_RANK", "1"},
                             {"WORLD_SIZE", "4"},
                             {"MASTER_ADDR", "node7"},
                             {"MASTER_PORT", "29500"},
                             {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                             {"TORCHELASTIC_RESTART_COUNT", "2"}};

const Variables kSrun = {{"SLURM_PROCID", "1"},         {"SLURM_STEP_NUM_TASKS", "2"},
                         {"SLURM_LOCALID", "0"},        {"SLURM_STEP_NODELIST", "gpu[08-09]"},
                         {"SLURM_STEP_NUM_NODES", "2"}, {"SLURM_JOB_ID", "1234"},
                         {"SLURM_STEP_ID", "0"}};

Variables with(Variables variables, const std::string& name, const std::string& value) {
  variables[name] = value;
  return variables;
}

Variables without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

TEST(RankPlace, IsAloneWhereNobodySaysAnything) {
  const auto place = place_in({});
  EXPECT_EQ(place.size, 1);
  EXPECT_TRUE(place.is_root());
  EXPECT_EQ(place_in({{"SLURM_PROCID", "0"}, {"SLURM_JOB_ID", "1"}}).size, 1) << "a batch script is no step";
  EXPECT_EQ(place_in({{"RANK", "0"}, {"WORLD_SIZE", "1"}}).size, 1) << "one needs no meeting place";
}

TEST(RankPlace, ReadsWhatTorchrunSets) {
  const auto place = place_in(kTorchrun);
  EXPECT_EQ(place.rank, 3);
  EXPECT_EQ(place.local_rank, 1);
  EXPECT_EQ(place.size, 4);
  EXPECT_EQ(place.host, "node7");
  EXPECT_EQ(place.port, 29500);
  EXPECT_TRUE(place.launcher_hosts);
  EXPECT_EQ(place.attempt, "2");
}

TEST(RankPlace, ProcessesOfOneStepMeetOnItsFirstNodeAtOnePort) {
  const auto place = place_in(kSrun);
  EXPECT_EQ(place.rank, 1);
  EXPECT_EQ(place.local_rank, 0);
  EXPECT_EQ(place.host, "gpu08");
  EXPECT_EQ(place.port, place_in(with(kSrun, "SLURM_PROCID", "0")).port);
  EXPECT_NE(place.port, place_in(with(kSrun, "SLURM_STEP_ID", "1")).port) << "steps run side by side";
  EXPECT_EQ(place_in(with(kSrun, "SLURM_STEP_NUM_NODES", "1")).host, "127.0.0.1");
  EXPECT_EQ(place_in(with(kSrun, "MASTER_ADDR", "n1-ib")).host, "n1-ib") << "a better name of the first node";
  EXPECT_EQ(place_in(with(kSrun, "MASTER_ADDR", "n1-ib")).port, place.port);
  const auto told = place_in(with(with(kSrun, "MASTER_ADDR", "n1"), "MASTER_PORT", "7"));
  EXPECT_EQ(told.host, "n1");
  EXPECT_EQ(told.port, 7);
}

TEST(RankPlace, WhatIsMissingOrContradictsIsNamed) {
  const std::map<std::string, Variables> cases = {
      {"WORLD_SIZE is not set", {{"RANK", "0"}}},
      {"RANK is not set", without(kTorchrun, "RANK")},
      {"RANK is 4 and WORLD_SIZE is 4", with(kTorchrun, "RANK", "4")},
      {"RANK is \"-1\"", with(kTorchrun, "RANK", "-1")},
      {"WORLD_SIZE is \"two\"", with(kTorchrun, "WORLD_SIZE", "two")},
      {"MASTER_ADDR is not set", without(kTorchrun, "MASTER_ADDR")},
      {"MASTER_PORT is not set", without(kTorchrun, "MASTER_PORT")},
      {"MASTER_PORT is \"70000\"", with(kTorchrun, "MASTER_PORT", "70000")},
      {"LOCAL_RANK is \"x\"", with(kTorchrun, "LOCAL_RANK", "x")},
  };
  for (const auto& [problem, variables] : cases) {
    const auto message = message_of([&] { place_in(variables); });
    EXPECT_PROBLEM(message, problem);
  }
}

TEST(RankPlace, TheFirstHostOfSlurmsListsIsFound) {
  const std::map<std::string, std::string> cases = {
      {"login", "login"},     {"a,b", "a"},      {"n[1-4]", "n1"},          {"n[01-04,7],login", "n01"},
      {"n[7,9]-ib", "n7-ib"}, {"a,n[1-2]", "a"}, {"r1n[3-5]-x,b", "r1n3-x"}};
  for (const auto& [nodes, host] : cases) EXPECT_EQ(first_host(nodes), host) << nodes;
}

TEST(Ports, AFreeOneAnswersNobody) {
  const auto port = free_port();
  EXPECT_GT(port, 0);
  EXPECT_FALSE(answers("127.0.0.1", port, std::chrono::milliseconds(30)));
  EXPECT_FALSE(answers("no-such-host.invalid", port, std::chrono::milliseconds(30)));
}

}  // namespace
}  // namespace harness
