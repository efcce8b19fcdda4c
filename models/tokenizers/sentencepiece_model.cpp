#include "models/tokenizers/sentencepiece_model.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace harness {
namespace {

// Field numbers of sentencepiece_model.proto.
constexpr std::uint64_t kModelPieces = 1, kModelTrainer = 2, kModelNormalizer = 3;
constexpr std::uint64_t kPieceText = 1, kPieceScore = 2, kPieceType = 3;
constexpr std::uint64_t kNormalizerMap = 2;
constexpr std::uint64_t kUnigram = 1;
enum PieceType : std::uint64_t { kNormal = 1, kUnknown = 2, kControl = 3 };

/// One field of a message: a number, or the bytes of a string or nested message.
struct WireField {
  std::uint64_t number = 0;
  std::uint64_t value = 0;
  std::string_view bytes;
};

/// Reads a protobuf message field by field (the wire format of protobuf.dev/programming-guides/encoding).
class WireReader {
 public:
  WireReader(std::string_view message, const std::string& where) : rest_(message), where_(where) {}

  std::optional<WireField> next() {
    if (rest_.empty()) return std::nullopt;
    const auto tag = varint();
    WireField field{.number = tag >> 3, .bytes = {}};
    if (field.number == 0) fail();
    switch (tag & 7) {
      case 0:
        field.value = varint();
        break;
      case 1:
        field.value = little_endian(take(8));
        break;
      case 2:
        field.bytes = take(varint());
        break;
      case 5:
        field.value = little_endian(take(4));
        break;
      default:
        fail();
    }
    return field;
  }

 private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    fail();
  }

  static std::uint64_t little_endian(std::string_view bytes) {
    std::uint64_t value = 0;
    for (auto byte = bytes.rbegin(); byte != bytes.rend(); ++byte)
      value = value << 8 | static_cast<unsigned char>(*byte);
    return value;
  }

  std::string_view take(std::uint64_t count) {
    if (count > rest_.size()) fail();
    const auto taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  [[noreturn]] void fail() const { throw Error("is not a SentencePiece model, or is cut short", where_); }

  std::string_view rest_;
  const std::string& where_;
};

template <class Function>
void for_each_field(std::string_view message, const std::string& where, const Function& function) {
  WireReader reader(message, where);
  while (const auto field = reader.next()) function(*field);
}

/// A setting of the trainer or the normaliser, and the one value of it that is implemented.
struct Setting {
  std::uint64_t message, number;
  const char* name;
  std::uint64_t implemented;
};
constexpr Setting kSettings[] = {{kModelTrainer, 3, "model_type", kUnigram},
                                 {kModelTrainer, 24, "treat_whitespace_as_suffix", 0},
                                 {kModelTrainer, 35, "byte_fallback", 0},
                                 {kModelNormalizer, 3, "add_dummy_prefix", 1},
                                 {kModelNormalizer, 4, "remove_extra_whitespaces", 1},
                                 {kModelNormalizer, 5, "escape_whitespaces", 1}};

void check_setting(std::uint64_t message, const WireField& field, const std::string& where) {
  for (const auto& setting : kSettings) {
    if (setting.message == message && setting.number == field.number && setting.implemented != field.value)
      throw Error(fmt::format("\"{}\" = {} is not known", setting.name, field.value), where,
                  fmt::format("known: {}", setting.implemented));
  }
}

struct TypedPiece {
  ScoredPiece piece;
  std::uint64_t type = kNormal;
};

TypedPiece read_piece(std::string_view message, std::size_t id, const std::string& where) {
  TypedPiece read;
  for_each_field(message, where, [&read](const WireField& field) {
    if (field.number == kPieceText) read.piece.text = field.bytes;
    if (field.number == kPieceScore)
      read.piece.score = std::bit_cast<float>(static_cast<std::uint32_t>(field.value));
    if (field.number == kPieceType) read.type = field.value;
  });
  const auto& [piece, type] = read;
  if (piece.text.empty() || invalid_utf8_at(piece.text) || !std::isfinite(piece.score))
    throw Error(fmt::format("piece {} has no text, text that is not UTF-8, or no finite score", id), where);
  if (type != kNormal && type != kUnknown && type != kControl)
    throw Error(fmt::format("piece {} {} is of type {}", id, in_quotes(piece.text), type), where,
                "known: 1 (normal), 2 (unknown), 3 (control)");
  return read;
}

}  // namespace

SentencePieceModel SentencePieceModel::read(const std::filesystem::path& path) {
  return parse(read_file(path), path.string());
}

SentencePieceModel SentencePieceModel::parse(std::string_view bytes, const std::string& where) {
  if (bytes.empty()) throw Error("is empty", where);
  SentencePieceModel model;
  int unknown_pieces = 0;
  for_each_field(bytes, where, [&](const WireField& part) {
    if (part.number == kModelPieces) {
      auto [piece, type] = read_piece(part.bytes, model.pieces.size(), where);
      if (type == kUnknown) {
        model.unknown = model.pieces.size();
        ++unknown_pieces;
      }
      model.pieces.push_back(std::move(piece));
    }
    if (part.number != kModelTrainer && part.number != kModelNormalizer) return;
    for_each_field(part.bytes, where, [&](const WireField& field) {
      check_setting(part.number, field, where);
      if (part.number == kModelNormalizer && field.number == kNormalizerMap)
        model.character_map = field.bytes;
    });
  });
  if (model.pieces.empty()) throw Error("holds no pieces: it is not a SentencePiece model", where);
  if (unknown_pieces != 1)
    throw Error(fmt::format("has {} pieces for unknown characters instead of one", unknown_pieces), where);
  return model;
}

}  // namespace harness
