#include "results/report/figure.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "core/files.h"
#include "core/image.h"
#include "tests/results/store_fixture.h"

namespace harness {
namespace {

using testing::HasSubstr;
using testing::Not;

Figure small_figure() {
  const FigureSeries line{.label = "predicted",
                          .kind = SeriesKind::kLine,
                          .style = SeriesStyle::kFirst,
                          .points = {{0, 1e-4, 9e-5, 1.2e-4}, {1, 2e-3, 1e-3, 3e-3}}};
  const FigureSeries marks{.label = "it's measured",
                           .kind = SeriesKind::kMarks,
                           .style = SeriesStyle::kSecond,
                           .points = {{0, 1.1e-4, 1e-4, 1.3e-4}, {1, 0, 0, 0}}};
  return {
      .name = "small",
      .panels =
          {{.title = "drift", .x_label = "step", .y_label = "nats", .log_y = true, .series = {line, marks}}},
      .notes = {"One note that is long enough to need a second line beneath a single panel of this width."}};
}

TEST(FigureScript, HoldsTheDataAndWhatAReaderNeeds) {
  const auto script = figure_script(small_figure(), "svg", "out.svg");
  EXPECT_THAT(script, HasSubstr("1 0.002 0.001 0.003"));
  EXPECT_THAT(script, HasSubstr("'it''s measured'"));
  EXPECT_THAT(script, HasSubstr("set xlabel 'step'"));
  EXPECT_THAT(script, HasSubstr("set label 2 "));
  EXPECT_THAT(script, Not(HasSubstr("1 0 0 0"))) << "a logarithmic axis has no place for 0";
  EXPECT_EQ(script, figure_script(small_figure(), "svg", "out.svg"));
}

TEST(FigureScript, WithoutDataIsAnError) {
  auto figure = small_figure();
  for (auto& series : figure.panels[0].series) series.points.clear();
  EXPECT_THROW(figure_script(figure, "svg", "out.svg"), Error);
  EXPECT_THROW(figure_script(small_figure(), "gif", "out.gif"), Error);
}

TEST(WriteFigure, GivesThreeFilesThatAreWhatTheirNamesSay) {
  const TemporaryFolder folder;
  const auto paths = write_figure(small_figure(), folder.path() / "it's a folder");
  ASSERT_EQ(paths.size(), 3U);
  EXPECT_THAT(read_file(paths.at("small.svg")), HasSubstr("<svg"));
  EXPECT_THAT(read_file(paths.at("small.pdf")).substr(0, 5), "%PDF-");
  EXPECT_GT(read_png(paths.at("small.png")).width, 600);
}

}  // namespace
}  // namespace harness
