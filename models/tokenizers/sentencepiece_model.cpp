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
constexpr std::uint64_t kTrainerModelType = 3, kTrainerSuffix = 24, kTrainerByteFallback = 35;
constexpr std::uint64_t kNormalizerMap = 2, kNormalizerPrefix = 3, kNormalizerRemoveSpaces = 4,
                        kNormalizerEscape = 5;
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

class ModelReader {
 public:
  explicit ModelReader(std::string where) : where_(std::move(where)) {}

  SentencePieceModel read(std::string_view bytes) {
    if (bytes.empty()) throw Error("is empty", where_);
    for_each_field(bytes, [this](const WireField& field) {
      if (field.number == kModelPieces) read_piece(field.bytes);
      if (field.number == kModelTrainer) check_trainer(field.bytes);
      if (field.number == kModelNormalizer) read_normalizer(field.bytes);
    });
    if (model_.pieces.empty()) throw Error("holds no pieces: it is not a SentencePiece model", where_);
    if (unknown_pieces_ != 1)
      throw Error(fmt::format("has {} pieces for unknown characters instead of one", unknown_pieces_),
                  where_);
    return std::move(model_);
  }

 private:
  template <class Function>
  void for_each_field(std::string_view message, const Function& function) const {
    WireReader reader(message, where_);
    while (const auto field = reader.next()) function(*field);
  }

  void read_piece(std::string_view message) {
    ScoredPiece piece;
    std::uint64_t type = kNormal;
    for_each_field(message, [&](const WireField& field) {
      if (field.number == kPieceText) piece.text = field.bytes;
      if (field.number == kPieceScore)
        piece.score = std::bit_cast<float>(static_cast<std::uint32_t>(field.value));
      if (field.number == kPieceType) type = field.value;
    });
    const auto id = model_.pieces.size();
    if (piece.text.empty() || invalid_utf8_at(piece.text) || !std::isfinite(piece.score))
      throw Error(fmt::format("piece {} has no text, text that is not UTF-8, or no finite score", id),
                  where_);
    if (type != kNormal && type != kUnknown && type != kControl)
      throw Error(fmt::format("piece {} {} is of type {}", id, in_quotes(piece.text), type), where_,
                  "known: 1 (normal), 2 (unknown), 3 (control)");
    if (type == kUnknown) {
      model_.unknown = id;
      ++unknown_pieces_;
    }
    model_.pieces.push_back(std::move(piece));
  }

  void check_trainer(std::string_view message) const {
    for_each_field(message, [this](const WireField& field) {
      if (field.number == kTrainerModelType) only("model_type", field.value, kUnigram);
      if (field.number == kTrainerSuffix) only("treat_whitespace_as_suffix", field.value, 0);
      if (field.number == kTrainerByteFallback) only("byte_fallback", field.value, 0);
    });
  }

  void read_normalizer(std::string_view message) {
    for_each_field(message, [this](const WireField& field) {
      if (field.number == kNormalizerMap) model_.character_map = field.bytes;
      if (field.number == kNormalizerPrefix) only("add_dummy_prefix", field.value, 1);
      if (field.number == kNormalizerRemoveSpaces) only("remove_extra_whitespaces", field.value, 1);
      if (field.number == kNormalizerEscape) only("escape_whitespaces", field.value, 1);
    });
  }

  void only(const char* flag, std::uint64_t value, std::uint64_t allowed) const {
    if (value != allowed)
      throw Error(fmt::format("\"{}\" = {} is not known", flag, value), where_,
                  fmt::format("known: {}", allowed));
  }

  std::string where_;
  SentencePieceModel model_;
  int unknown_pieces_ = 0;
};

}  // namespace

SentencePieceModel SentencePieceModel::read(const std::filesystem::path& path) {
  return parse(read_file(path), path.string());
}

SentencePieceModel SentencePieceModel::parse(std::string_view bytes, const std::string& where) {
  return ModelReader(where).read(bytes);
}

}  // namespace harness
