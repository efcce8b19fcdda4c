#include "models/gpu/busy_time.h"

#include <gtest/gtest.h>
#include <torch/cuda.h>

#include <algorithm>

#include "tests/models/gpu_fixture.h"

namespace harness {
namespace {

/// A stream whose clock the test sets; it has done what lies before `done`.
struct Stream {
  double now = 0, done = 0;
  int waits = 0;

  class Mark : public StreamMark {
   public:
    explicit Mark(Stream& stream) : at_(stream.now), stream_(stream) {}
    bool is_reached() const override { return at_ <= stream_.done; }
    void wait() const override {
      if (!is_reached()) ++stream_.waits;
      stream_.done = std::max(stream_.done, at_);
    }
    double seconds_since(const StreamMark& earlier) const override {
      EXPECT_TRUE(is_reached()) << "read before it was there";
      return at_ - dynamic_cast<const Mark&>(earlier).at_;
    }

   private:
    double at_;
    Stream& stream_;
  };

  BusyTime::MakeMark marks() {
    return [this] { return std::make_unique<Mark>(*this); };
  }
};

TEST(BusyTime, IsTheTimeOfPiecesWithoutThatBetweenThem) {
  Stream stream;
  BusyTime busy(stream.marks());
  for (int i = 0; i < 3; ++i) {
    const BusyTime::Piece piece(busy);
    stream.now += 2;
  }
  EXPECT_EQ(busy.seconds(), 6);
  stream.now += 100;
  EXPECT_EQ(busy.seconds(), 6);
  {
    const BusyTime::Piece piece(busy);
    stream.now += 0.5;
  }
  EXPECT_EQ(busy.seconds(), 6.5);
}

TEST(BusyTime, CountsPiecesWithinOthersAndBesideThemOnce) {
  Stream stream;
  BusyTime busy(stream.marks());
  {
    const BusyTime::Piece outer(busy);
    stream.now += 1;
    for (int i = 0; i < 2; ++i) {
      const BusyTime::Piece inner(busy);
      stream.now += 1;
    }
    stream.now += 1;
  }
  auto first = std::make_unique<BusyTime::Piece>(busy);
  stream.now += 1;
  auto second = std::make_unique<BusyTime::Piece>(busy);
  stream.now += 1;
  first.reset();
  stream.now += 1;
  second.reset();
  EXPECT_EQ(busy.seconds(), 4 + 3);
}

TEST(BusyTime, WaitsOnlyWhereItIsAsked) {
  Stream stream;
  BusyTime busy(stream.marks());
  for (int i = 0; i < 5; ++i) {
    const BusyTime::Piece piece(busy);
    stream.now += 1;
  }
  EXPECT_EQ(stream.waits, 0);
  stream.done = 2;
  EXPECT_EQ(busy.seconds(), 5);
  EXPECT_EQ(stream.waits, 3);
}

TEST(BusyTime, OfACpuIsNothing) {
  BusyTime busy(torch::kCPU);
  { const BusyTime::Piece piece(busy); }
  EXPECT_EQ(busy.seconds(), 0);
}

class BusyTimeOfAGpu : public GpuTest {};

#ifndef HARNESS_KERNEL_TWIN
TEST_F(BusyTimeOfAGpu, IsThatOfItsEvents) {
  const auto x = torch::randn({4096, 4096}, torch::TensorOptions(device_));
  const auto products_of_x = [&x](int count) {
    for (int i = 0; i < count; ++i) torch::mm(x, x);
  };
  products_of_x(100);  // an idle GPU's clock is low
  torch::cuda::synchronize();
  BusyTime busy(device_);
  const auto piece_of = [&](int products) {
    const BusyTime::Piece piece(busy);
    products_of_x(products);
  };
  piece_of(1);
  const auto one = busy.seconds();
  piece_of(40);
  const auto many = busy.seconds() - one;
  EXPECT_GT(one, 0);
  EXPECT_GT(many, 5 * one);
  EXPECT_LT(many, 200 * one);
}
#endif

}  // namespace
}  // namespace harness
