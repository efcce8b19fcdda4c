#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace harness {

/// Where the value of an option goes. A bool makes it a flag. What a number or text holds before is the
/// default that the help shows; an optional has none and shows whether the option was given.
using OptionTarget =
    std::variant<bool*, std::string*, int*, std::int64_t*, std::uint64_t*, double*,
                 std::optional<std::string>*, std::optional<int>*, std::optional<std::int64_t>*,
                 std::optional<std::uint64_t>*, std::optional<double>*, std::vector<std::string>*,
                 std::vector<std::uint64_t>*, std::vector<std::pair<std::string, std::string>>*>;

/// What one value of an option is; a pair is two words.
enum class ValueKind { kFlag, kText, kPair, kInteger, kNatural, kNumber };

/// Names that a shell may offer as a value. Called when they are asked for; it may throw.
using Offers = std::function<std::vector<std::string>()>;

/// These names, whatever was typed.
Offers choices(std::vector<std::string> names);

/// What few options are.
struct OptionDetails {
  bool required = false;
  bool hidden = false;            ///< taken, but not in the help
  bool by_comma = false;          ///< of a list: a word holds several values, with or without blanks
  bool one_each = false;          ///< of a list: one value after each name, so that an argument may follow it
  bool may_be_bare = false;       ///< given without a value it has that of default_text
  std::string default_text = {};  ///< the default in the help of what has none in its target
  bool is_path = false;           ///< a shell offers files, where no name of `offers` fits
  Offers offers = {};
  std::string value = {};                  ///< how the help names its value: "DIR"; empty: by its kind
  std::string group = {};                  ///< its heading in the help; empty: among the other options
  std::vector<std::string> excludes = {};  ///< names of options that cannot be combined with it
};

struct Option {
  std::string names;  ///< "-o,--out"; without hyphens it is an argument, named by its place: "id"
  OptionTarget target;
  std::string help;
  OptionDetails details = {};

  bool is_argument() const { return !names.starts_with('-'); }
  bool has_name(std::string_view name) const;
  std::string last_name() const;  ///< "--out" of "-o,--out"
  ValueKind kind() const;
  bool is_list() const;  ///< of texts or numbers
};

/// A program, or one of its commands.
struct Command {
  std::string name, help;
  std::string notes = {};  ///< below its options in the help; empty: those of the command that it belongs to
  std::string version = {};  ///< of a program: what --version prints
  std::vector<Option> options = {};
  std::vector<Command> commands = {};  ///< one of them must be given
  std::function<int()> run = {};       ///< after its targets are set; gives the exit status
  std::string group = {};              ///< its heading in the help of the program; empty: "Commands"
  std::map<std::string, std::string> mistaken = {};  ///< what to do, by an option that it does not have

  /// `target` must live as long as `run`, which therefore owns it.
  void add(std::string names, OptionTarget target, std::string help, OptionDetails details = {});
  /// The one of its own commands, or nullptr.
  const Command* find(std::string_view name) const;
  /// The one of its own options, or nullptr.
  const Option* option(std::string_view name) const;
};

}  // namespace harness
