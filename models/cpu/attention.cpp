#include "models/cpu/attention.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "models/cpu/kernels.h"

// A product for each width of vectors, chosen at run time. Not target_clones: how a product is cut into tiles
// depends on the width.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define HARNESS_VECTOR_WIDTHS
#endif
#define HARNESS_INLINE __attribute__((always_inline)) inline

namespace harness::kernels {
namespace {

/// Rows of a tile of the product. 6 rows of 4 vectors (AVX-512) or of 2 (AVX2) are 24 of 32 registers or 12
/// of 16; the others hold what is multiplied.
constexpr int kTileRows = 6;
/// Queries that go through scores, softmax and mixing together.
constexpr std::int64_t kBlock = 8 * kTileRows;

/// How many terms of a sum are added one after the other, before they are added to those that went before: as
/// LibTorch's BLAS has it on the AMD machines that the shipped figures were made on, so that their runs keep
/// their bits (of an odd number it too adds the last term alone). Panels of that height fit into caches.
std::int64_t run_of(std::int64_t terms) {
  constexpr std::int64_t kMost = 192;
  if (terms <= kMost || terms >= 2 * kMost) return kMost;
  return terms / 2;
}

/// The left factor: element (row, term) is at data[row * row_step + term * term_step].
struct Left {
  const float* data;
  std::int64_t row_step, term_step, rows;
};

/// The right factor [terms,columns]: panel after panel of Width::panel columns, each term by term; the last
/// one has as many whole vectors as it needs, with zeros after its columns.
struct Right {
  const float* data;
  std::int64_t terms, columns;
};

/// Where sums go: rows `step` apart. `begin` sets them, else what is there is added to.
struct Sums {
  float* data;
  std::int64_t step;
  bool begin;
};

/// Lanes floats side by side.
template <int Lanes>
struct Vector {
  typedef float Type __attribute__((vector_size(Lanes * sizeof(float))));
};

/// A tile of Rows x (Vectors * Lanes) sums over `terms`, each in order; `columns` of them are stored.
template <int Lanes, int Rows, int Vectors>
HARNESS_INLINE void add_tile(const float* left, std::int64_t row_step, std::int64_t term_step,
                             const float* panel, std::int64_t terms, float* sums, std::int64_t step,
                             std::int64_t columns, bool begin) {
  using V = typename Vector<Lanes>::Type;
  V sum[Rows][Vectors];
  // The last vector may have fewer columns than lanes. Copies go through memory: sums whose address is taken
  // would not stay in registers.
  const int whole = columns >= Vectors * Lanes ? Vectors : Vectors - 1;
  const auto rest = static_cast<std::size_t>(columns - (Vectors - 1) * Lanes) * sizeof(float);
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < Vectors; ++j) sum[i][j] = V{};
  }
  for (std::int64_t t = 0; t < terms; ++t) {
    V right[Vectors];
#pragma GCC unroll 4
    for (int j = 0; j < Vectors; ++j) std::memcpy(&right[j], panel + (t * Vectors + j) * Lanes, sizeof(V));
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i) {
      const float factor = left[i * row_step + t * term_step];
#pragma GCC unroll 4
      for (int j = 0; j < Vectors; ++j) sum[i][j] += factor * right[j];
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < Vectors; ++j) {
      float* to = sums + i * step + j * Lanes;
      V before{};
      if (j < whole) {
        if (!begin) std::memcpy(&before, to, sizeof(V));
        const V after = begin ? sum[i][j] : before + sum[i][j];
        std::memcpy(to, &after, sizeof(V));
      } else {
        if (!begin) std::memcpy(&before, to, rest);
        const V after = begin ? sum[i][j] : before + sum[i][j];
        std::memcpy(to, &after, rest);
      }
    }
  }
}

/// sums (+)= left * right over the terms [from,to), tile by tile.
template <int Lanes, int MaxVectors>
HARNESS_INLINE void add_product(const Left& left, const Right& right, std::int64_t from, std::int64_t to,
                                const Sums& sums) {
  static_assert(AttentionShape::kMostLanes % Lanes == 0);
  constexpr std::int64_t kPanel = MaxVectors * Lanes;
  for (std::int64_t column = 0; column < right.columns; column += kPanel) {
    const auto columns = std::min(right.columns - column, kPanel);
    const auto vectors = (columns + Lanes - 1) / Lanes;
    const float* panel = right.data + column * right.terms + from * vectors * Lanes;
    for (std::int64_t row = 0; row < left.rows; row += kTileRows) {
      const float* a = left.data + row * left.row_step + from * left.term_step;
      float* c = sums.data + row * sums.step + column;
      const auto rows = std::min<std::int64_t>(left.rows - row, kTileRows);
#define HARNESS_TILE(ROWS, VECTORS)                                                                    \
  case ROWS * 8 + VECTORS:                                                                             \
    if constexpr (VECTORS <= MaxVectors)                                                               \
      add_tile<Lanes, ROWS, VECTORS>(a, left.row_step, left.term_step, panel, to - from, c, sums.step, \
                                     columns, sums.begin);                                             \
    break;
#define HARNESS_TILES(ROWS) \
  HARNESS_TILE(ROWS, 1) HARNESS_TILE(ROWS, 2) HARNESS_TILE(ROWS, 3) HARNESS_TILE(ROWS, 4)
      switch (rows * 8 + vectors) {
        HARNESS_TILES(1)
        HARNESS_TILES(2)
        HARNESS_TILES(3)
        HARNESS_TILES(4)
        HARNESS_TILES(5)
        HARNESS_TILES(6)
        default:
          break;
      }
#undef HARNESS_TILES
#undef HARNESS_TILE
    }
  }
}

using Product = void (*)(const Left& left, const Right& right, std::int64_t from, std::int64_t to,
                         const Sums& sums);

/// A width of vectors: how panels are laid out, and the product that reads them.
struct Width {
  std::int64_t lanes, panel;
  Product add;

  std::int64_t padded(std::int64_t columns) const { return (columns + lanes - 1) / lanes * lanes; }
};

constexpr int kNarrowVectors = 2, kWideVectors = 4;  // of a tile's rows

void add_product_4(const Left& left, const Right& right, std::int64_t from, std::int64_t to,
                   const Sums& sums) {
  add_product<4, kNarrowVectors>(left, right, from, to, sums);
}

#ifdef HARNESS_VECTOR_WIDTHS
__attribute__((target("arch=x86-64-v3"))) void add_product_8(const Left& left, const Right& right,
                                                             std::int64_t from, std::int64_t to,
                                                             const Sums& sums) {
  add_product<8, kNarrowVectors>(left, right, from, to, sums);
}

__attribute__((target("arch=x86-64-v4"))) void add_product_16(const Left& left, const Right& right,
                                                              std::int64_t from, std::int64_t to,
                                                              const Sums& sums) {
  add_product<16, kWideVectors>(left, right, from, to, sums);
}
#endif

/// The narrowest first.
std::vector<Width> widths_here() {
  std::vector<Width> found{{4, 4 * kNarrowVectors, add_product_4}};
#ifdef HARNESS_VECTOR_WIDTHS
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v3")) found.push_back({8, 8 * kNarrowVectors, add_product_8});
  if (__builtin_cpu_supports("x86-64-v4")) found.push_back({16, 16 * kWideVectors, add_product_16});
#endif
  return found;
}

const std::vector<Width>& widths() {
  static const auto found = widths_here();
  return found;
}

Width width_of(const AttentionShape& shape) {
  for (const auto& width : widths())
    if (width.lanes == shape.lanes) return width;
  return widths().back();
}

/// Memory for `count` floats, at a border of cache lines.
class Floats {
 public:
  explicit Floats(std::int64_t count)
      : data_(static_cast<float*>(
            ::operator new (static_cast<std::size_t>(count) * sizeof(float), std::align_val_t{64}))) {}
  float* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(float* data) const { ::operator delete (data, std::align_val_t{64}); }
  };
  std::unique_ptr<float, Free> data_;
};

/// Rows x [rows,columns], `step` apart, as a right factor. `to` has rows * padded(columns) floats.
Right packed(const Width& width, const float* x, std::int64_t step, std::int64_t rows, std::int64_t columns,
             float* to) {
  const Right result{to, rows, columns};
  for (std::int64_t column = 0; column < columns; column += width.panel) {
    const auto here = std::min(columns - column, width.panel), wide = width.padded(here);
    for (std::int64_t row = 0; row < rows; ++row, to += wide) {
      std::memcpy(to, x + row * step + column, static_cast<std::size_t>(here) * sizeof(float));
      std::fill(to + here, to + wide, 0.0F);
    }
  }
  return result;
}

/// The transpose of the rows x [rows,columns], `step` apart, as a right factor of whole vectors, [columns,
/// padded(rows)]. `to` has columns * padded(rows) floats.
Right packed_transpose(const Width& width, const float* x, std::int64_t step, std::int64_t rows,
                       std::int64_t columns, float* to) {
  const Right result{to, columns, width.padded(rows)};
  for (std::int64_t row = 0; row < rows; row += width.panel) {
    const auto here = std::min(rows - row, width.panel), wide = width.padded(here);
    for (std::int64_t c = 0; c < columns; ++c, to += wide) {
      for (std::int64_t i = 0; i < here; ++i) to[i] = x[(row + i) * step + c];
      std::fill(to + here, to + wide, 0.0F);
    }
  }
  return result;
}

/// sums = left * right.
void multiply(const Width& width, const Left& left, const Right& right, float* sums, std::int64_t step) {
  const auto run = run_of(right.terms);
  for (std::int64_t from = 0; from < right.terms; from += run)
    width.add(left, right, from, std::min(from + run, right.terms), {sums, step, from == 0});
}

/// Where a head's arrays begin.
struct HeadPlace {
  std::int64_t queries, keys, probabilities;
};

HeadPlace place_of(const AttentionShape& s, std::int64_t head) {
  const auto row = head / s.heads, column = head % s.heads * s.width, wide = s.heads * s.width;
  return {row * s.queries * wide + column, row * s.keys * wide + column, head * s.queries * s.row()};
}

std::int64_t blocks_of(const AttentionShape& s) {
  return (s.queries + kBlock - 1) / kBlock;
}

}  // namespace

std::vector<int> vector_lanes() {
  std::vector<int> lanes;
  for (const auto& width : widths()) lanes.push_back(static_cast<int>(width.lanes));
  return lanes;
}

std::int64_t attention_parts(const AttentionShape& s) {
  return s.all_heads() * blocks_of(s);
}

void attention(const AttentionShape& s, const float* q, const float* k, const float* v, float* p, float* out,
               std::int64_t first, std::int64_t last) {
  const auto width = width_of(s);
  const auto step = s.heads * s.width, row = s.row(), blocks = blocks_of(s);
  const Floats keys(s.width * width.padded(s.keys)), values(s.keys * width.padded(s.width)),
      scores(p != nullptr ? 0 : kBlock * row);
  Right of_keys{}, of_values{};
  for (auto part = first; part < last; ++part) {
    const auto at = place_of(s, part / blocks);
    if (part == first || part % blocks == 0) {
      of_keys = packed_transpose(width, k + at.keys, step, s.keys, s.width, keys.data());
      of_values = packed(width, v + at.keys, step, s.keys, s.width, values.data());
    }
    const auto i = part % blocks * kBlock, rows = std::min(kBlock, s.queries - i);
    float* block = p != nullptr ? p + at.probabilities + i * row : scores.data();
    multiply(width, {q + at.queries + i * step, step, 1, rows}, of_keys, block, row);
    scaled_softmax(block, rows, s.keys, row, s.scale);
    multiply(width, {block, row, 1, rows}, of_values, out + at.queries + i * step, step);
  }
}

void attention_backward(const AttentionShape& s, const float* q, const float* k, const float* v,
                        const float* p, const float* dout, float* dq, float* dk, float* dv,
                        std::int64_t first, std::int64_t last) {
  const auto width = width_of(s);
  const auto step = s.heads * s.width, row = s.row(), run = run_of(s.queries), wide = width.padded(s.width);
  const Floats keys(s.keys * wide), values(s.width * width.padded(s.keys)), queries(run * wide),
      gradients(run * wide), scores(run * row);
  for (auto head = first; head < last; ++head) {
    const auto at = place_of(s, head);
    const auto of_keys = packed(width, k + at.keys, step, s.keys, s.width, keys.data());
    const auto of_values = packed_transpose(width, v + at.keys, step, s.keys, s.width, values.data());
    for (std::int64_t i = 0; i < s.queries; i += run) {
      const auto rows = std::min(run, s.queries - i), here = at.queries + i * step;
      const float* probabilities = p + at.probabilities + i * row;
      multiply(width, {dout + here, step, 1, rows}, of_values, scores.data(), row);
      scaled_softmax_backward(probabilities, scores.data(), rows, s.keys, row, s.scale);
      multiply(width, {scores.data(), row, 1, rows}, of_keys, dq + here, step);
      const auto of_queries = packed(width, q + here, step, rows, s.width, queries.data());
      const auto of_gradients = packed(width, dout + here, step, rows, s.width, gradients.data());
      width.add({scores.data(), 1, row, s.keys}, of_queries, 0, rows, {dk + at.keys, step, i == 0});
      width.add({probabilities, 1, row, s.keys}, of_gradients, 0, rows, {dv + at.keys, step, i == 0});
    }
  }
}

}  // namespace harness::kernels
