#include "tests/archive/archives.h"

namespace harness::test {
namespace {

using DamagedArchive = WithArchive;
using HostileArchive = WithArchive;

/// The first entry whose name ends so.
Packed& named(std::vector<Packed>& entries, const std::string& ending) {
  for (auto& entry : entries) {
    if (entry.name.ends_with(ending)) return entry;
  }
  throw std::runtime_error(ending);
}

std::string top_of(const std::vector<Packed>& entries) {
  return entries.front().name.substr(0, entries.front().name.find('/'));
}

TEST_F(DamagedArchive, AChangedByteIsNamedByFileWithBothChecksums) {
  for (const std::string file : {"job.json", "/events.log", "positions.json", "journal.log", "results.sqlite",
                                 "table.md", "ocr-generated.txt", "table-spec.json"}) {
    std::string was, is;
    const auto archive = changed([&](auto& entries) {
      auto& bytes = named(entries, file).bytes;
      was = sha256_hex(bytes);
      bytes[bytes.size() / 2] ^= 1;
      is = sha256_hex(bytes);
    });
    expect_refused(archive, {file, "SHA-256 " + is + " instead of " + was});
  }
}

TEST_F(DamagedArchive, AnyChangedByteOfTheManifestIsFound) {
  const auto size = entries_of(at("small.tar.zst")).front().bytes.size();
  for (const auto place : {size / 7, size / 3, size / 2, size - 70, size - 2}) {
    const auto archive = changed([&](auto& entries) { entries.front().bytes[place] ^= 1; });
    expect_refused(archive, {"manifest.json"});
  }
  expect_refused(changed([](auto& entries) { entries.front().bytes += " "; }), {"manifest.json"});
}

TEST_F(DamagedArchive, CutOffAnywhereItIsRefused) {
  const auto bytes = read_file(at("small.tar.zst"));
  for (const auto size : {std::size_t{0}, std::size_t{3}, bytes.size() / 4, bytes.size() / 2,
                          bytes.size() - 1000, bytes.size() - 1}) {
    write_file_atomically(at("cut.tar.zst"), bytes.substr(0, size));
    expect_refused("cut.tar.zst", {"cut.tar.zst"});
  }
}

TEST_F(DamagedArchive, AChangedByteOfTheStreamIsRefusedOrHarmless) {
  const auto bytes = read_file(at("small.tar.zst"));
  for (std::size_t i = 1; i <= 12; ++i) {
    auto spoilt = bytes;
    spoilt[bytes.size() * i / 13] ^= 0x10;
    write_file_atomically(at("spoilt.tar.zst"), spoilt);
    const auto out = fresh("spoilt");
    const auto outcome = place().run({"import", "spoilt.tar.zst", "--out", out});
    if (outcome.status == 0) {
      ok({"db", "check", "--out", out}, {"sound"});
    } else {
      EXPECT_EQ(outcome.status, 2) << outcome.err;
      EXPECT_THAT(outcome.err, HasSubstr("spoilt.tar.zst"));
      EXPECT_FALSE(fs::exists(at(out)));
    }
  }
}

TEST_F(DamagedArchive, AFileThatIsMissingOrUnknownOrOfAnotherSizeIsRefused) {
  expect_refused(changed([](auto& entries) { entries.pop_back(); }), {"lacks 1 file of its manifest"});
  expect_refused(changed([](auto& entries) {
                   entries.push_back({.name = top_of(entries) + "/more.txt", .bytes = "x"});
                 }),
                 {"more.txt: is not in the manifest"});
  expect_refused(changed([](auto& entries) { named(entries, "journal.log").bytes += "x"; }),
                 {"journal.log: has", "bytes instead of"});
  expect_refused(changed([](auto& entries) { entries.erase(entries.begin()); }), {"and not with a manifest"});
}

TEST_F(DamagedArchive, WhatIsNoArchiveIsRefused) {
  place().write_text("text.tar.zst", std::string(5000, 'x'));
  expect_refused("text.tar.zst", {"text.tar.zst"});
  write_archive(at("empty.tar.zst"), {});
  expect_refused("empty.tar.zst", {"holds nothing"});
  place().fails(2, {"import", "nowhere.tar.zst", "--out", "nowhere"}, {"nowhere.tar.zst"});
  EXPECT_FALSE(fs::exists(at("nowhere")));
}

TEST_F(HostileArchive, NamesThatLeadElsewhereAreRefused) {
  for (const std::string name :
       {"../escaped.txt", "/tmp/harness-escaped.txt", "TOP/../../escaped.txt", "TOP/a/../../x", "TOP//x",
        "TOP/.hidden", "TOP/./x", "TOP/with blank", "TOP/semi;colon", "TOP/new\nline", "TOP/\xc3\xa4",
        "TOP/-rf", "TOP/esc\x1b[2J"}) {
    const auto archive = changed([&](auto& entries) {
      auto whole = name;
      if (whole.starts_with("TOP")) whole.replace(0, 3, top_of(entries));
      entries.push_back({.name = whole, .bytes = "x"});
    });
    expect_refused(archive, {"a name that no archive of harness has"});
  }
  EXPECT_FALSE(fs::exists(at("escaped.txt")));
  EXPECT_FALSE(fs::exists("/tmp/harness-escaped.txt"));
}

TEST_F(HostileArchive, LinksAndDevicesAreRefused) {
  const auto with = [](const Packed& packed) {
    return changed([&](auto& entries) {
      auto one = packed;
      one.name = top_of(entries) + "/" + one.name;
      entries.push_back(one);
    });
  };
  expect_refused(with({.name = "link", .type = AE_IFLNK, .link = "/etc/passwd"}),
                 {"link is a symbolic link"});
  expect_refused(with({.name = "hard", .link = "journal.log"}), {"hard is a hard link"});
  expect_refused(with({.name = "device", .type = AE_IFCHR}), {"device is a device"});
  expect_refused(with({.name = "pipe", .type = AE_IFIFO}), {"pipe is a pipe"});
}

TEST_F(HostileArchive, ANameThatIsThereTwiceIsRefused) {
  expect_refused(changed([](auto& entries) { entries.push_back(entries.back()); }), {"duplicate file"});
}

/// The manifest of an archive that `change` has changed, as its maker would have written it.
std::string forged(const std::function<void(ArchiveManifest&)>& change, std::vector<Packed>& entries) {
  auto manifest = ArchiveManifest::parse(entries.front().bytes, "manifest");
  change(manifest);
  return manifest.text();
}

TEST_F(HostileArchive, AFewBytesThatWouldBecomeManyAreRefusedBeforeTheyDo) {
  const auto archive = changed([](auto& entries) {
    const std::string zeros(512u << 20, '\0');
    entries.front().bytes = forged([&](auto& m) { m.files["zeros.bin"] = packed_bytes(zeros); }, entries);
    entries.push_back({.name = top_of(entries) + "/zeros.bin", .bytes = zeros});
  });
  EXPECT_LT(fs::file_size(at(archive)), 2u << 20);
  expect_refused(archive, {"would unpack", "more than 200 times"});
}

TEST_F(HostileArchive, MoreBytesThanTheManifestSaysAreNotUnpacked) {
  const auto archive = changed([](auto& entries) {
    entries.push_back({.name = top_of(entries) + "/zeros.bin", .bytes = std::string(100u << 20, '\0')});
    entries.front().bytes =
        forged([](auto& m) { m.files["zeros.bin"] = {.bytes = 1, .sha256 = std::string(64, '0')}; }, entries);
  });
  expect_refused(archive, {"zeros.bin: has 104857600 bytes instead of 1"});
}

TEST_F(HostileArchive, ANewerFormatSaysThatANewerProgramIsNeeded) {
  const auto archive = changed([](auto& entries) {
    auto document = parse_json(entries.front().bytes, "manifest");
    document["format"] = 3;
    document["unknown to this program"] = true;
    entries.front().bytes = document.dump();
  });
  expect_refused(archive, {"has format 3", "import it with a newer harness"});
}

/// With one file changed, and the manifest such that nothing is wrong with it.
std::string with_other(const std::string& ending, const std::function<void(std::string&)>& change,
                       std::vector<Packed>& entries) {
  auto& entry = named(entries, ending);
  change(entry.bytes);
  const auto name = entry.name.substr(entry.name.find('/') + 1);
  return forged([&](auto& m) { m.files[name] = packed_bytes(entry.bytes); }, entries);
}

TEST_F(HostileArchive, WithAConsistentManifestJobsMustStillBeNamedByTheirHash) {
  const auto archive = changed([](auto& entries) {
    entries.front().bytes = with_other(
        "/job.json",
        [](std::string& bytes) {
          auto job = parse_json(bytes, "job");
          job["identity"]["seed"] = 99;
          bytes = job.dump();
        },
        entries);
  });
  expect_refused(archive, {"job.json", "its identity has the id"});
}

TEST_F(HostileArchive, AFileThatNoExperimentHasIsRefused) {
  const auto run =
      ArchiveManifest::parse(entries_of(at("small.tar.zst")).front().bytes, "manifest").runs.front();
  for (const std::string& name :
       {run + "/submission.json", run + "/job.sh", std::string("lock"), std::string("prompts/a/b.txt"),
        std::string("experiments/2-other/table.md")}) {
    const auto archive = changed([&](auto& entries) {
      entries.push_back({.name = top_of(entries) + "/" + name, .bytes = "x"});
      entries.front().bytes = forged([&](auto& m) { m.files[name] = packed_bytes("x"); }, entries);
    });
    expect_refused(archive, {name + " is not a file of an experiment"});
  }
}

TEST_F(HostileArchive, WithAConsistentManifestLogsMustStillCompleteTheExperiment) {
  const auto archive = changed([](auto& entries) {
    entries.front().bytes = with_other(
        "/events.log", [](std::string& bytes) { bytes.resize(bytes.rfind('\n', bytes.size() - 2) + 1); },
        entries);
  });
  expect_refused(archive, {"which the logs do not complete"}, 1);
}

TEST_F(HostileArchive, RecordsWithoutAPlaceInAWorkspaceAreRefused) {
  const auto archive = changed([](auto& entries) {
    entries.front().bytes = with_other(
        "journal.log", [](std::string& bytes) { bytes.clear(); }, entries);
  });
  expect_refused(archive, {"does not hold the experiment of the manifest"});
}

}  // namespace
}  // namespace harness::test
