#include <signal.h>

#include "tests/chain.h"
#include "tests/png_chunk.h"

// Rows of images that other systems drew: `harness score`, and `reproduce --images`.

namespace harness {
namespace {

namespace fs = std::filesystem;

class GivenRows : public Chain {
 protected:
  std::string score(const std::string& out, const std::string& rest) const {
    return fmt::format("{} score --out {} {}", kProgram, (root_ / out).string(), rest);
  }

  void expect_scored_rows(const std::string& out, const std::string& rest) const {
    const auto run = shell(score(out, rest) + " 2>&1 >/dev/null");
    EXPECT_EQ(run.status, 0) << run.out;
  }

  void expect_refused(const std::string& rest, const std::string& problem) const {
    EXPECT_PROBLEM(ended(score("refused", rest), 2), problem);
    EXPECT_FALSE(fs::exists(root_ / "refused")) << "nothing was begun";
  }

  /// Folder of the test evaluation of a method's run.
  fs::path evaluation_of(const std::string& out, const std::string& method, int seed = 42) const {
    const auto rows = json_rows(
        out, fmt::format("SELECT e.folder FROM evaluations e JOIN checkpoints c ON c.id = checkpoint_id JOIN "
                         "runs r ON r.id = run_id WHERE split = 'test' AND method = '{}' AND r.seed = {}",
                         method, seed));
    return rows.at(0).at("folder").get<std::string>();
  }

  /// Every image and score of a row's test evaluation. Images lie on no disk twice in the same place.
  std::string scores_of(const std::string& out, const std::string& row) const {
    return query(out,
                 fmt::format("SELECT p.position, s.sample, s.sha256, s.transcript, hex(s.transcript_raw), "
                             "m.name, m.value, m.reason FROM table_runs t JOIN checkpoints c ON c.run_id "
                             "= t.run_id JOIN evaluations e ON e.checkpoint_id = c.id AND e.split = "
                             "'test' JOIN samples s ON s.evaluation_id = e.id JOIN prompts p ON p.id = "
                             "s.prompt_id JOIN metrics m ON m.evaluation_id = e.id AND m.prompt_id = "
                             "s.prompt_id AND m.sample = s.sample WHERE arm = '{}' AND m.name <> "
                             "'glyph_clip' ORDER BY 1, 2, 6",
                             row));
  }

  /// So many prompts, each with a text of its own, and images of a letter's size that hold nothing.
  std::string write_prompts(int count) const {
    std::string text;
    for (int i = 0; i < count; ++i) text += fmt::format("{}a sign reading \"WORD{}\"", i == 0 ? "" : "\n", i);
    write_file(root_ / "p.txt", text);
    return (root_ / "p.txt").string();
  }
  void write_image(const fs::path& file, int shade, const std::string& note = {}) const {
    make_folder((root_ / file).parent_path());
    const Image image{96, 48, std::vector<std::uint8_t>(96 * 48 * 3, static_cast<std::uint8_t>(shade))};
    const auto png = png_bytes(image);
    write_file(root_ / file,
               note.empty() ? png : with_chunk(png, "tEXt", "copy" + std::string(1, '\0') + note));
  }

  /// Images of rows a and b for so many prompts, which two images share nowhere. The file of prompts.
  std::string write_rows(int count) const {
    for (int i = 0; i < count; ++i) {
      write_image(fmt::format("a/{}.png", i), 40 * i);
      write_image(fmt::format("b/{}.png", i), 40 * i + 20);
    }
    return write_prompts(count);
  }
  std::string two_rows(const std::string& prompts) const {
    return fmt::format("a={} b={} --prompts {}", at("a"), at("b"), prompts);
  }
};

TEST_F(GivenRows, ImagesOfAnEvaluationHaveItsScoresRowByRow) {
  expect_reproduced("own");
  const auto ratio = evaluation_of("own", "ratio-norm"),
             controlled = evaluation_of("own", "lambda-controlled");
  const auto given =
      fmt::format("ratio={} controlled={} --prompts ocr-generated", ratio.string(), controlled.string());
  expect_scored_rows("theirs", given);
  for (const auto& [row, method] : {std::pair("ratio", "ratio-norm"), {"controlled", "lambda-controlled"}}) {
    const auto drawn = scores_of("own", method);
    EXPECT_EQ(std::ranges::count(drawn, '\n'), 1 + 7 * 10);
    expect_equal_rows(drawn, scores_of("theirs", row));
  }
  const auto text = read_file(root_ / "theirs/images/table.md");
  EXPECT_PROBLEM(text, "Noise not paired");
  EXPECT_PROBLEM(text, "Of the 1018 prompts the 7 that have images count.");
  EXPECT_EQ(text.find("\u2212 base "), std::string::npos) << "no base model are known of these";
  EXPECT_PROBLEM(on("check images", "theirs"), "14 of 14 rules hold; 3 others had nothing to check");
  EXPECT_PROBLEM(on("compare ratio controlled --metric all", "theirs"), "hese images");
  on("report images", "theirs");
  on("grid images", "theirs");
  const auto out = at("theirs");
  output_of("db check --out " + out);
  const auto before = rows("theirs");
  output_of("db rebuild --out " + out);
  EXPECT_EQ(rows("theirs"), before);
  EXPECT_PROBLEM(output_of("verify --out " + out), "same bits");
  // All is done: the table is printed from the database.
  const auto again = shell(score("theirs", given) + " --json 2>/dev/null");
  EXPECT_EQ(again.status, 0);
  EXPECT_EQ(parse_json(again.out, "stdout").at("rows").size(), 2U);

  // As a row beside those that are trained here.
  expect_reproduced("own", fmt::format("--images theirs={}", ratio.string()));
  expect_equal_rows(scores_of("own", "ratio-norm"), scores_of("own", "theirs"));
  EXPECT_PROBLEM(read_file(root_ / "own/chain/table.md"), "Noise not paired: the images of theirs");
  on("check chain", "own");
  on("compare ratio-norm theirs", "own");
  const auto other = fmt::format("--images x={} 2>&1", (kTree / "tests/data/ocr").string());
  EXPECT_EQ(shell(reproduce("own", other)).status, 2);
}

TEST_F(GivenRows, AnExperimentOfImagesTravels) {
  expect_scored_rows("o", two_rows(write_rows(6)) + " --metric ocr_reward");
  const auto archive = (root_ / "images.tar.zst").string(), again = (root_ / "again.tar.zst").string();
  const auto there = at("there");
  output_of(fmt::format("export images -o {} --out {}", archive, at("o")));
  fs::rename(root_ / "o", root_ / "away");
  fs::remove_all(root_ / "a");
  fs::remove_all(root_ / "b");
  output_of(fmt::format("import {} --out {}", archive, there));
  EXPECT_PROBLEM(output_of("check images --out " + there), "rules hold;");
  output_of("db check --out " + there);
  EXPECT_PROBLEM(output_of("verify --out " + there, 1),
                 "nothing can be run again: the images were not part of the archive");
  output_of(fmt::format("export 1 -o {} --out {}", again, there));
  EXPECT_EQ(read_file(archive), read_file(again));
  output_of(fmt::format("import {} --out {}", there, at("second")));
  EXPECT_PROBLEM(output_of("check images --out " + at("second")), "rules hold;");
}

TEST_F(GivenRows, WhatLeavesTheMachineNamesNoFolderOfIt) {
  const auto prompts = write_prompts(6);
  const auto lab = root_ / "lab";
  for (int i = 0; i < 6; ++i) {
    write_image(fmt::format("lab/study/a/{}.png", i), 40 * i);
    write_image(fmt::format("lab/study/b/{}.png", i), 40 * i + 20);
  }
  fs::rename(prompts, lab / "p.txt");
  // A manifest names its images in full, and elsewhere.
  std::string manifest;
  for (int i = 0; i < 6; ++i)
    manifest += fmt::format("{{\"file\": \"{}/study/b/{}.png\", \"index\": {}}}\n", lab.string(), i, i);
  fs::create_directories(lab / "lists");
  write_file(lab / "lists/b.jsonl", manifest);
  expect_scored_rows("o", fmt::format("a={0}/study/a b={0}/lists/b.jsonl --prompts {0}/p.txt", lab.string()));
  const auto expect_free = [&](const std::string& text, const std::string& where, const fs::path& folder) {
    const auto found = text.find(folder.string());
    EXPECT_EQ(found, std::string::npos)
        << where << ": " << text.substr(found - std::min<std::size_t>(found, 80), 200);
  };
  const auto out = at("o");
  for (const auto* format : {"md", "latex", "csv", "json", "html"})
    expect_free(on(fmt::format("table images --format {}", format), "o"), format, root_);
  EXPECT_PROBLEM(on("table images", "o"), "a: 6 images in study/a (");
  on("report images", "o");
  for (const auto& entry : fs::directory_iterator(root_ / "o/images"))
    expect_free(read_file(entry.path()), entry.path().filename(), root_);
  EXPECT_PROBLEM(read_file(root_ / "o/images/grid.html"), "<img src=\"data:image/png;base64,");
  const auto archive = (root_ / "o.tar.zst").string();
  output_of(fmt::format("export images -o {} --images --out {}", archive, out));
  output_of(fmt::format("import {} --out {}", archive, at("there")));
  for (const auto& entry : fs::recursive_directory_iterator(root_ / "there")) {
    if (entry.is_regular_file()) expect_free(read_file(entry.path()), entry.path(), lab);
  }
}

TEST_F(GivenRows, ACopiedRunIsImportedWithItsScores) {
  const auto given = two_rows(write_rows(3)) + " --metric ocr_reward";
  expect_scored_rows("o", given);
  const std::string id = json_rows("o", "SELECT run_id FROM table_runs WHERE arm = 'a'").at(0).at("run_id");
  const auto copy = root_ / "copies" / id, list = copy / "checkpoints/1/images.jsonl";
  fs::create_directories(root_ / "copies");
  fs::copy(root_ / "o" / id, copy, fs::copy_options::recursive);
  const auto import = [&] {
    return shell(fmt::format("{} import {} --out {} --json", kProgram, copy.string(), at("there")));
  };
  const auto whole = read_file(list);
  write_file(list, whole.substr(whole.find('\n') + 1));
  const auto refused = import();
  EXPECT_EQ(refused.status, 2) << refused.out;
  EXPECT_PROBLEM(refused.out, "is not the list of images that was scored");
  write_file(list, whole);
  const auto imported = parse_json(import().out, "stdout");
  EXPECT_EQ(imported.at("runs").at(0).at("name"), id);
  EXPECT_EQ(imported.at("notes"), Json::array()) << "nothing is left to a reproduce";
  output_of("db check --out " + at("there"));
  expect_scored_rows("there", given);
  expect_equal_rows(scores_of("o", "a"), scores_of("there", "a"));
}

TEST_F(GivenRows, MissingAndUnreadableImagesAreCountedAndNotScored) {
  const auto given = two_rows(write_rows(6));
  fs::remove(root_ / "a/2.png");
  write_file(root_ / "b/4.png", "");
  expect_scored_rows("o", given);
  const auto reasons =
      query("o",
            "SELECT arm, position, sample, reason, count(*) AS n FROM metrics JOIN prompts ON "
            "prompts.id = prompt_id JOIN evaluations e ON e.id = evaluation_id JOIN checkpoints "
            "c ON c.id = checkpoint_id JOIN table_runs t USING (run_id) WHERE reason IS NOT NULL "
            "GROUP BY 1, 2, 3, 4 ORDER BY 1");
  EXPECT_EQ(reasons,
            "arm,position,sample,reason,n\na,2,0,there is no image,11\nb,4,0,the image is empty,11\n");
  const auto compared = json_rows("o", "SELECT n, n_missing FROM comparisons WHERE metric = 'ocr_reward'");
  EXPECT_EQ(compared.at(0).at("n"), 4);
  EXPECT_EQ(compared.at(0).at("n_missing"), 2);
  const auto text = read_file(root_ / "o/images/table.md");
  EXPECT_PROBLEM(text, "Images of a: 1 of 6 are missing (prompt 2).");
  EXPECT_PROBLEM(text, "Images of b: 1 of 6 have no scores, as the image is empty (prompt 4).");
  EXPECT_PROBLEM(on("check images", "o"), "rules hold;");
  on("report images", "o");
  // What was scored is kept: the folders may go.
  fs::remove_all(root_ / "a");
  fs::remove_all(root_ / "b");
  EXPECT_PROBLEM(output_of("verify --out " + at("o")), "same bits");
}

TEST_F(GivenRows, SeveralImagesOfAPromptAreItsSamplesAndOneCluster) {
  const auto prompts = write_prompts(5);
  for (int i = 0; i < 5; ++i) {
    for (int sample = 0; sample < 3; ++sample)
      write_image(fmt::format("a/{}_{}.png", i, sample), 20 * i + sample);
    for (int sample = 0; sample < 2; ++sample)
      write_image(fmt::format("b/{}_{}.png", i, sample), 10 * i + sample);
  }
  const auto rest =
      fmt::format("a={} b={} --prompts {} --metric jpeg_kb,ocr_reward", at("a"), at("b"), prompts);
  expect_scored_rows("o", rest);
  const auto compared = json_rows("o", "SELECT n, clusters FROM comparisons WHERE metric = 'ocr_reward'");
  EXPECT_EQ(compared.at(0).at("n"), 10);
  EXPECT_EQ(compared.at(0).at("clusters"), 5);
  EXPECT_PROBLEM(read_file(root_ / "o/images/table.md"), "The first 2 images per prompt of every row");
  EXPECT_PROBLEM(on("check images", "o"), "rules hold;");
  expect_refused(rest + " --samples 4", "must be 1 to 3");
}

TEST_F(GivenRows, OfSeveralCheckpointsOneIsSelectedAndTestedOnOtherPrompts) {
  const auto prompts = write_prompts(12);
  for (int i = 0; i < 12; ++i) {
    for (const int step : {10, 20}) write_image(fmt::format("runs/step-{}/{}.png", step, i), step + i);
    write_image(fmt::format("before/{}.png", i), 200 - i);
  }
  expect_scored_rows("o", fmt::format("'after={}/step-{{step}}' before={} --prompts {} --split 4/8 --as mine",
                                      (root_ / "runs").string(), (root_ / "before").string(), prompts));
  const auto evaluated = query("o",
                               "SELECT arm, step, split, n FROM evaluations JOIN checkpoints c ON c.id = "
                               "checkpoint_id JOIN table_runs USING (run_id) ORDER BY 1, 3, 2");
  EXPECT_EQ(
      evaluated,
      "arm,step,split,n\nafter,10,test,8\nafter,10,validation,4\nafter,20,validation,4\nbefore,1,test,8\n");
  EXPECT_PROBLEM(on("check mine", "o"), "rules hold;");
}

TEST_F(GivenRows, APromptWithoutAQuotedTextCostsOnlyTheScoresThatReadIt) {
  const auto prompts = write_rows(3);
  const auto text = read_file(prompts);
  const auto rows = fmt::format("a={} b={}", at("a"), at("b"));
  const auto bare = root_ / "bare.txt";
  write_file(bare, "a red cube\na green ball\na blue cone\n");
  expect_scored_rows("none", fmt::format("{} --prompts {}", rows, bare.string()));
  EXPECT_EQ(query("none", "SELECT count(*) AS n FROM metrics WHERE value IS NULL"), "n\n0\n");
  EXPECT_EQ(query("none", "SELECT count(*) AS n FROM metrics WHERE name = 'edge_density'"), "n\n6\n");
  const auto some = root_ / "some.txt";
  write_file(some, text.substr(0, text.find('\n') + 1) + "a green ball\na blue cone\n");
  expect_scored_rows("some", fmt::format("{} --prompts {}", rows, some.string()));
  EXPECT_EQ(query("some", "SELECT count(*) AS n FROM metrics WHERE name = 'edge_density' AND value IS NULL"),
            "n\n0\n");
  EXPECT_PROBLEM(ended(score("named", rows + " --as sd35-ocr --prompts " + prompts), 2),
                 "\"sd35-ocr\" is a table that is trained");
}

TEST_F(GivenRows, AJobThatIsInterruptedGoesOnWithTheNextImage) {
  const auto prompts = write_prompts(60);
  for (int i = 0; i < 60; ++i) write_image(fmt::format("a/{}.png", i), 4 * i);
  const auto rest = fmt::format("a={} --prompts {} --metric ocr_reward", at("a"), prompts);
  expect_scored_rows("whole", rest);
  // Killed while it scores, after the first images and after some more.
  for (int i = 0; i < 2; ++i) {
    const auto harness = started_until("parts", score("parts", rest), "sample");
    const auto workers = workers_of(harness->pid());
    ::kill(harness->pid(), SIGKILL);
    for (const pid_t worker : workers) ::kill(worker, SIGKILL);
    harness->wait();
  }
  expect_scored_rows("parts", rest);
  expect_equal_rows(scores_of("whole", "a"), scores_of("parts", "a"));
}

TEST_F(GivenRows, OneSetOfPixelsIsOneRunHoweverItsFilesWereSaved) {
  const auto prompts = write_prompts(6);
  for (const int copy : {1, 2, 3}) {
    for (int i = 0; i < 6; ++i) {
      write_image(fmt::format("a{}/{}.png", copy, i), 20 * i, fmt::format("copy {}", copy));
      write_image(fmt::format("b{}/{}.png", copy, i), 20 * i + 20 * copy - 10, "b");
    }
  }
  const auto rows = [&](const std::string& given) {
    std::string text;
    for (const auto& row : split(given, ' ')) text += fmt::format("{}={} ", row.substr(0, 1), at(row));
    return fmt::format("{}--prompts {} --metric jpeg_kb", text, prompts);
  };
  expect_refused(rows("a1 a2 b1 b2"), "are the same images: 6 of 6 have the same pixels");
  expect_refused(fmt::format("a={} b={} --prompts {}", at("a1"), at("a3"), prompts), "error: a and b: ");
  expect_scored_rows("o", rows("a1 b1"));
  EXPECT_EQ(read_file(root_ / "o/images/table.md").find("same pixels"), std::string::npos);
}

TEST_F(GivenRows, CopiesThatWereRetouchedAreOneRun) {
  expect_reproduced("drawn", "--methods ratio-norm");
  std::string copies;
  for (const int copy : {1, 2}) {
    const auto to = root_ / fmt::format("copy {}", copy);
    fs::copy(evaluation_of("drawn", "ratio-norm"), to, fs::copy_options::recursive);
    for (const auto& entry : fs::recursive_directory_iterator(to)) {
      if (entry.path().extension() != ".png") continue;
      auto image = read_png(entry.path());
      image.rgb[static_cast<std::size_t>(3 * copy)] ^= 8;
      write_file(entry.path(), png_bytes(image));
    }
    copies += fmt::format("'a={}' ", to.string());
  }
  expect_refused(copies + "--prompts ocr-generated",
                 "are the same images: 7 of 7 differ no more than copies that were compressed or resized");
}

TEST_F(GivenRows, ImagesThatWereRenamedOrLaidOutAnewAreFoundByWhatTheyShow) {
  const auto prompts = write_prompts(4);
  for (int i = 0; i < 4; ++i) {
    for (int sample = 0; sample < 2; ++sample) {
      write_image(fmt::format("a/{:05}/samples/{:04}.png", i, sample), 30 * i + sample);
      write_image(fmt::format("b/{}_{}.png", i, sample), 30 * i + 10 + sample);
    }
  }
  const auto rest = fmt::format("--prompts {} --metric", prompts);
  expect_scored_rows("o", fmt::format("a={} b={} {} jpeg_kb", at("a"), at("b"), rest));
  const auto ids = query("o", "SELECT id FROM runs ORDER BY 1");
  std::string lines;
  for (int i = 3; i >= 0; --i) {
    for (int sample = 0; sample < 2; ++sample) {
      fs::create_directories(root_ / "hf/train");
      fs::rename(root_ / fmt::format("a/{:05}/samples/{:04}.png", i, sample),
                 root_ / fmt::format("hf/train/x{}{}.png", i, sample));
      lines += fmt::format("{{\"file_name\": \"x{}{}.png\", \"index\": {}, \"sample\": {}}}\n", i, sample, i,
                           sample);
    }
  }
  write_file(root_ / "hf/train/metadata.jsonl", lines);
  fs::remove_all(root_ / "a");
  fs::rename(root_ / "b", root_ / "moved");
  const auto moved = fmt::format("a={} b={} {} ocr_reward", at("hf/train"), at("moved"), rest);
  expect_scored_rows("o", moved);
  EXPECT_EQ(query("o", "SELECT id FROM runs ORDER BY 1"), ids) << "the same images";
  EXPECT_EQ(query("o", "SELECT count(*) AS n FROM metrics WHERE name = 'ocr_reward' AND value IS NOT NULL"),
            "n\n16\n");
  EXPECT_PROBLEM(on("check images", "o"), "rules hold;");
  output_of("db check --out " + at("o"));
  EXPECT_PROBLEM(output_of("verify --out " + at("o")), "same bits");
  // A source that is cut and changed since is not needed either.
  fs::remove(root_ / "hf/train/x00.png");
  write_image("hf/train/x10.png", 250);
  EXPECT_PROBLEM(output_of("verify --out " + at("o")), "same bits");
}

TEST_F(GivenRows, ADryRunShowsWhichFileIsOfWhichPrompt) {
  const auto prompts = write_prompts(5);
  for (int i = 0; i < 5; ++i) {
    write_image(fmt::format("a/{}_0.png", i), 20 * i);
    write_image(fmt::format("a/{}_1.png", i), 20 * i + 1);
    write_image(fmt::format("b/{}.png", i), 20 * i + 5);
  }
  const auto rest = fmt::format("base={} b={} --prompts {} --dry-run", at("a"), at("b"), prompts);
  const auto text = shell(score("o", rest) + " 2>&1").out;
  EXPECT_PROBLEM(
      text, "base: 10 images of 5 prompts, 2 each at most, files named INDEX or INDEX_SAMPLE: " + at("a"));
  EXPECT_PROBLEM(text, "  2_1.png -> \"a sign reading \\\"WORD2\\\"\", sample 1");
  const auto found =
      parse_json(shell(score("o", rest + " --json") + " 2>/dev/null").out, "stdout").at("images");
  EXPECT_EQ(found.at(1).at("row"), "b");
  EXPECT_EQ(found.at(1).at("prompts"), 5);
  EXPECT_EQ(found.at(1).at("examples").at(2).at("prompt"), "a sign reading \"WORD4\"");
  EXPECT_FALSE(fs::exists(root_ / "o"));
}

TEST_F(GivenRows, ARowOfImagesMayBeNamedBase) {
  const auto rest = fmt::format("--prompts {} --metric ocr_reward,jpeg_kb", write_rows(5));
  expect_scored_rows("o", fmt::format("base={} tuned={} {}", at("a"), at("b"), rest));
  const auto text = read_file(root_ / "o/images/table.md");
  EXPECT_PROBLEM(text, "tuned \u2212 base");
  EXPECT_PROBLEM(text, "the images of base, tuned were drawn elsewhere");
  EXPECT_PROBLEM(on("check images", "o"), "rules hold;");
  on("compare base tuned --metric all", "o");
  EXPECT_PROBLEM(on("grid images", "o"), "grid");
  on("report images", "o");
  output_of("verify --out " + at("o"));
  // As a row behind another one it is one of the rows, too.
  expect_scored_rows("p", fmt::format("tuned={} base={} {}", at("b"), at("a"), rest));
  EXPECT_PROBLEM(read_file(root_ / "p/images/table.md"), "base \u2212 tuned");
  EXPECT_PROBLEM(on("check images", "p"), "rules hold;");
}

TEST_F(GivenRows, OnePromptMakesATable) {
  const auto prompts = write_prompts(1);
  for (int i = 0; i < 3; ++i) {
    write_image(fmt::format("a/0_{}.png", i), 20 * i);
    write_image(fmt::format("b/0_{}.png", i), 20 * i + 5);
  }
  expect_scored_rows("o", fmt::format("a={} b={} --prompts {}", at("a"), at("b"), prompts));
  EXPECT_EQ(query("o", "SELECT n, clusters FROM comparisons WHERE metric = 'ocr_reward'"),
            "n,clusters\n3,1\n");
  EXPECT_PROBLEM(read_file(root_ / "o/images/table.md"),
                 "Only one prompt has images: differences have no interval");
  EXPECT_PROBLEM(on("check images", "o"), "rules hold;");
  write_image("c/1.png", 7);
  expect_refused(fmt::format("a={} --prompts {}", at("c"), prompts),
                 "there is no prompt 1: the only prompt of");
  expect_refused(fmt::format("a={} --prompts {}", at("c"), prompts), "--index-from 1");
}

TEST_F(GivenRows, WhatMayBeOfEitherOfTwoPromptsIsRefusedWithBothReadings) {
  const auto prompts = write_prompts(6);
  for (int i = 1; i < 5; ++i) write_image(fmt::format("from-one/{}.png", i), 20 * i);
  const auto of = [&](const char* folder) { return fmt::format("a={} --prompts {}", at(folder), prompts); };
  expect_refused(of("from-one"),
                 "counted from 0, 1.png is of \"a sign reading \\\"WORD1\\\"\"; counted from 1, of "
                 "\"a sign reading \\\"WORD0\\\"\"");
  expect_scored_rows("o", of("from-one") + " --index-from 1 --metric jpeg_kb");
  EXPECT_EQ(
      query("o",
            "SELECT group_concat(position, ' ') AS p FROM samples JOIN prompts ON prompts.id = prompt_id"),
      "p\n0 1 2 3\n");
  for (int i = 0; i < 6; ++i) {
    for (const int sample : {1, 2}) {
      write_image(fmt::format("from-1/{}_{}.png", i, sample), 20 * i + sample);
      write_image(fmt::format("from-0/{}_{}.png", i, sample - 1), 20 * i + 10 + sample);
    }
  }
  expect_refused(fmt::format("{} b={}", of("from-1"), at("from-0")), "samples begin at 1 in ");
}

TEST_F(GivenRows, TheTableSaysWhichImagesAreAnotherPromptsAndWhichAreNotListed) {
  const auto prompts = write_prompts(6);
  std::string listed = "file,index\n";
  for (int i = 0; i < 6; ++i) {
    write_image(fmt::format("a/{}.png", i), 20 * i);
    write_image(fmt::format("b/{}.png", i), 20 * i + 20);
    listed += fmt::format("{0}.png,{0}\n", i);
  }
  write_image("b/more.png", 1);
  write_file(root_ / "b/manifest.csv", listed);
  expect_scored_rows("o", fmt::format("a={} b={} --prompts {} --metric jpeg_kb", at("a"), at("b"), prompts));
  const auto text = read_file(root_ / "o/images/table.md");
  EXPECT_PROBLEM(text, "Images of a and b are the same files under different prompts: 5 of 6 in ");
  EXPECT_PROBLEM(text, "1 image beside manifest.csv is not listed there and not scored, such as more.png");
}

TEST_F(GivenRows, AMetricWithoutAGoodDirectionIsNoReward) {
  expect_scored_rows("o", two_rows(write_rows(4)) + " --metric jpeg_kb");
  const auto text = read_file(root_ / "o/images/table.md");
  EXPECT_EQ(text.find("the reward"), std::string::npos) << text;
  EXPECT_PROBLEM(on("check images", "o"), "rules hold;");
}

// Files of prompts and layouts of images that are refused: tests/datasets, tests/images.
TEST_F(GivenRows, WhatCannotBeScoredIsRefusedBeforeAnythingIsWritten) {
  const auto prompts = write_prompts(3);
  for (int i = 0; i < 2; ++i) write_image(i == 0 ? "a/0.png" : "b/0.png", 10 + 10 * i);
  write_image("c/1.png", 30);
  const auto a = at("a"), b = at("b"), two = fmt::format("a={} b={}", a, b);
  for (const auto& [options, problem] : std::vector<std::pair<std::string, const char*>>{
           {"a", "expected NAME=DIR, got \"a\""},
           {fmt::format("a={0} b={0}", a), "are the same images"},
           {fmt::format("a={} a={} b={}", a, b, b), "a has 2 folders and b has 1"},
           {fmt::format("a={} c={} --index-from 0", a, at("c")),
            "c and a have images of no prompt in common"},
           {"2:" + two, "cannot be a row's name"},
           {two + " --split 1/2", "every row has one checkpoint"},
           {two + " --baseline c", "baseline"},
           {two + " --metric ocr_rewards", "ocr_reward"},
           {two + " --metric geneval_score",
            "geneval_score is of GenEval's records, and these are lines of text"},
           {two + " --set lr=1", "setting lr is not used"},
           {two + " --as 1", "\"1\" is a number, which names an experiment"}})
    expect_refused(fmt::format("{} --prompts {}", options, prompts), problem);
  expect_refused(two + " --prompts geneval-shapes --metric ocr_reward",
                 "ocr_reward needs text in double quotes, and these are GenEval's records");
  expect_refused(fmt::format("a={} --prompts {}", a, at("absent.txt")), "there is no file");
}

TEST_F(GivenRows, ImagesOfSizesThatAreReadOtherwiseAreNotReadByTheFirstOfThem) {
  const auto prompts = write_prompts(2);
  for (int i = 0; i < 2; ++i) write_image(fmt::format("small/{}.png", i), 20 * i);
  make_folder(root_ / "large");
  for (int i = 0; i < 2; ++i)
    write_file(root_ / fmt::format("large/{}.png", i),
               png_bytes(Image{128, 128,
                               std::vector<std::uint8_t>(128 * 128 * 3, static_cast<std::uint8_t>(9 * i))}));
  for (const auto& [first, second] : {std::pair("small", "large"), std::pair("large", "small")})
    expect_refused(fmt::format("a={} b={} --prompts {}", at(first), at(second), prompts),
                   "--like glyph or --like sd35-medium says how all of them are read");
  expect_scored_rows("o", fmt::format("a={} b={} --prompts {} --like glyph --metric ocr_reward", at("small"),
                                      at("large"), prompts));
}

}  // namespace
}  // namespace harness
