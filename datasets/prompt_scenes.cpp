#include "datasets/prompt_scenes.h"

#include <array>
#include <utility>

namespace harness {
namespace {

/// Shared lists. `reads` follows the thing that is written on; `lettering` follows the target.
constexpr std::array<std::pair<std::string_view, const char*>, 23> kShared{{
    {"shot",
     "{A realistic photograph of|A wide shot of|A close view of|A detailed photo of|A softly focused picture "
     "of|"
     "A documentary photograph of|An eye-level photo of|A carefully composed photo of|A candid snapshot of}"},
    {"reads",
     "{that reads|reading|that says|saying|with the words|bearing the words|with the text|marked|lettered "
     "with}"},
    {"shows", "{shows|reads|bears the words|announces|carries the words|says}"},
    {"lettering",
     "in {bold|clean|slightly uneven|tall|rounded|narrow|crisp|sturdy|generous|plain} "
     "{capitals|serif letters|block letters|brush strokes|print|handwriting|stencilled letters|type}"},
    {"neon",
     "in {pink|cool blue|warm white|emerald|amber|violet} {neon|tubes of light|glowing script|flickering "
     "light}"},
    {"daylight",
     "{under a pale morning sky|in the warm light of late afternoon|on a bright and cloudless day|"
     "under drifting clouds|in soft spring sunshine|just after a short rain|in hazy summer light|"
     "on a crisp autumn morning|beneath a wide blue sky|with long shadows on the ground}"},
    {"night",
     "{late at night|shortly after sunset|in deep blue twilight|under a row of street lamps|"
     "with reflections on the wet ground|beneath a clear starry sky|in thin mist after dark|at the blue "
     "hour}"},
    {"lamplight",
     "{in the glow of a brass lamp|in gentle window light|under warm ceiling lights|lit from the left by a "
     "tall window|"
     "in a calm and quiet mood|with dust floating in a beam of light|in muted colors|with shallow depth of "
     "field|"
     "under even and neutral light|in cozy evening light}"},
    {"dark",
     "{late at night|shortly after sunset|long after midnight|lit only by the screen|with a single lamp in "
     "the corner|"
     "in bluish half-light|as the last light fades|in deep shadow with soft highlights}"},
    {"closing",
     "{The letters are sharp and easy to read{| from across the scene}.|The mood is calm and unhurried{|, "
     "almost dreamlike}.|"
     "Every letter is clearly visible{| and evenly spaced}.|The background stays softly out of focus{|, so "
     "that the words stand out}.|"
     "Fine textures are visible all around{|, from dust to scratches}.|The composition leads the eye "
     "straight to the words.|"
     "Colors are natural and slightly faded{|, as in an old photograph}.|A few small details hint at {a "
     "busy|a long|an ordinary} day.|"
     "The scene feels lived in and friendly.|The words fill most of the surface{| and nothing covers them}.|"
     "The light picks out the edges of the letters.|A shallow depth of field keeps attention on the writing.|"
     "The lettering looks {hand-made|well worn|brand new} and is in full view.|The whole picture has a "
     "{gentle|playful|nostalgic|cinematic} tone.|"
     "The view is straight on, with the text in the middle of the frame.|Warm and cool tones balance each "
     "other.|"
     "Small imperfections make the writing look genuine.|There is a quiet sense of humor in the scene.}"},
    {"passers",
     "{two cyclists wait nearby|people hurry past with umbrellas|a dog naps by the door|a child points at it|"
     "a courier checks an address|neighbors stop to chat|a woman carries a paper bag|pigeons gather on the "
     "curb|"
     "a man in a long coat looks up|nobody else is around}"},
    {"num", "{<nonzero><digit>|<nonzero>|<nonzero><digit><digit>}"},
    {"num2", "<nonzero><digit>"},
    {"year", "{19<nonzero><digit>|20<digit><digit>|18<nonzero><digit>}"},
    {"hour", "{6|7|8|9|10|11|12|1|2|3|4|5}"},
    {"half", "{AM|PM}"},
    {"day", "{Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday}"},
    {"month", "{January|February|March|April|May|June|July|August|September|October|November|December}"},
    {"first",
     "{Ada|Bruno|Clara|Dario|Edith|Felix|Greta|Hugo|Ines|Jonas|Kira|Leo|Mina|Nils|Olga|Pavel|Rosa|Stefan|"
     "Tilda|"
     "Uma|Viktor|Wanda|Yusuf|Zora|Anton|Bela|Carmen|Dov|Elias|Freya}"},
    {"last",
     "{Abbott|Birch|Castell|Dorn|Ellery|Falk|Garrow|Hale|Ibsen|Juniper|Keller|Lowell|Marsh|Norton|Oakes|Pell|"
     "Quill|Rowan|Sorrel|Thorne|Umber|Vance|Wren|Yarrow}"},
    {"town",
     "{Alder Bay|Birchwood|Cinder Hill|Dunmere|Eastholm|Fernley|Glen Orran|Harrow End|Ivybridge|Juniper Gap|"
     "Kestrel Point|Larkfield|Millbrook|Northwick|Otterford|Pinehurst|Quarry "
     "Hill|Redmoor|Saltmarsh|Thornbury|"
     "Underhill|Vale End|Westerly|Yarrow Cross}"},
    {"animal",
     "{Otter|Heron|Badger|Fox|Hare|Magpie|Lynx|Swift|Robin|Stag|Owl|Finch|Beaver|Marten|Raven|Tortoise|"
     "Weasel|Crane}"},
    {"hue",
     "{Amber|Azure|Copper|Crimson|Golden|Indigo|Ivory|Jade|Scarlet|Silver|Teal|Violet|Russet|Saffron|Cobalt|"
     "Pearl}"},
}};

}  // namespace

const char* shared_pattern(std::string_view name) {
  for (const auto& [key, pattern] : kShared) {
    if (key == name) return pattern;
  }
  return nullptr;
}

std::span<const Scene> prompt_scenes() {
  static const std::vector<Scene> all = [] {
    std::vector<Scene> scenes;
    for (const auto part :
         {street_scenes(), indoor_scenes(), outdoor_scenes(), screen_scenes(), imagined_scenes()}) {
      scenes.insert(scenes.end(), part.begin(), part.end());
    }
    return scenes;
  }();
  return all;
}

}  // namespace harness
