# cmake -DFOLDER=results/report_page -DOUTPUT=FILE.cpp -P EmbedReportPage.cmake: style and script of the report as C++ strings.
file(READ ${FOLDER}/page.css style)
file(READ ${FOLDER}/page.js script)
file(WRITE ${OUTPUT} "#include \"results/report.h\"

namespace harness {

const char* const kReportStyle = R\"page(${style})page\";

const char* const kReportScript = R\"page(${script})page\";

}  // namespace harness
")
