#include "datasets/prompt_scenes.h"

namespace harness {

std::span<const Scene> outdoor_scenes() {
  static const std::vector<Scene> scenes{
      {"road sign",
       {"<shot> a {straight|winding|coastal} road with a {green|rusty|roadside} sign <reads> \"<T>\" "
        "<lettering>, {dry grass along the ditch|"
        "a line of poplars|wind turbines far away} beside the asphalt, <daylight>. <closing>",
        "A {mountain|desert|forest} road seen from a car, a sign at the bend <shows> \"<T>\", {gravel on the "
        "shoulder|a stone wall on one side|"
        "low clouds ahead}, <daylight>. <closing>"},
       {"<town> <num> {km|Miles}",
        "{Sharp|Blind|Icy|Narrow|Steep} {Curve|Bridge|Bend|Descent|Tunnel} {Ahead|<num2> m}",
        "{Slow|Stop|Caution|Yield} {Ducks|Deer|Tractors|Sheep|Toads|Geese} {Crossing|Ahead}",
        "{Rest Area|Last Fuel|Ferry|Detour|Campground} {Exit|in} <num> {km|}"}},
      {"railway platform",
       {"<shot> a {rural|iron-roofed|foggy} railway platform, a {hanging|split-flap|enamel} board <reads> "
        "\"<T>\" <lettering>, {a clock above it|luggage "
        "carts below|a train waiting at the signal}, and <passers>. <closing>",
        "A railway station in {early morning|winter|autumn}, where the sign over the tracks <shows> \"<T>\", "
        "{steam drifting past|benches under the roof|"
        "a guard with a whistle}, <daylight>. <closing>"},
       {"<town> {via|to|or} {Lake|Coast|Border|Airport}",
        "{Platform|Track|Coach|Train} <num> {Closed|Boarding|Delayed|Departed}",
        "{Next|Last|Night|Slow|Express} Train <hour>:{0|1|2|3|4|5}<digit>",
        "{Mind|Watch|Jump|Admire} the {Gap|Step|Edge|Goose}"}},
      {"bus stop",
       {"<shot> a {glass|lonely|snow-covered} bus stop with a {printed|digital|bent} sign <reads> \"<T>\" "
        "<lettering>, {a forgotten umbrella on the "
        "bench|puddles on the road|ivy on the pole}, <daylight>. <closing>",
        "A bus arrives at a {suburban|hilltop|seaside} stop, its destination display <shows> \"<T>\", while "
        "<passers>, <night>. <closing>"},
       {"{Line|Bus|Route|Tram} <num> {to|via} {School|Museum|Harbor|Stadium|Zoo}", "<num2> <town>",
        "{No|Last|Next} Bus {Until|After|Before} {Noon|<hour> <half>|<day>}",
        "{Not|Sorry|Soon} {in Service|Full Bus|Arriving} <num>"}},
      {"harbor boat",
       {"<shot> a {wooden|freshly painted|weathered} boat in a {quiet|crowded|northern} harbor, the stern "
        "<shows> \"<T>\" <lettering>, {nets drying on the "
        "quay|gulls on the mast|ropes around a bollard}, <daylight>. <closing>",
        "A {tugboat|trawler|sailing boat|ferry} moored at a stone pier, its bow <reads> \"<T>\" <lettering>, "
        "{lobster pots on deck|a lantern at the cabin|"
        "mist over the water}, <daylight>. <closing>"},
       {"{Lady|Captain|Saint|Old|Little} <first> <num2>",
        "{Salty|Patient|Lucky|Restless|Stubborn} {Pelican|Gull|Walrus|Mermaid|Seal|Heron}",
        "<hue> {Tide|Anchor|Wake|Current|Horizon} {of <town>|}", "MS <town> <num2>",
        "{Windfall|Persephone|Halcyon|Moonraker|Tempest|Driftwood|Evangeline|Barnacle|Nimbus}"}},
      {"trail sign",
       {"<shot> a {mossy|steep|pine} forest trail with a {carved|split-log|yellow} sign <reads> \"<T>\" "
        "<lettering>, {roots across the path|ferns around the "
        "post|a stream nearby}, <daylight>. <closing>",
        "A hiker rests by a trail post that <shows> \"<T>\", {a valley opening behind|a wooden bridge "
        "ahead|boulders with lichen around}, <daylight>. <closing>"},
       {"{Hidden|Upper|Lower|Twin|Mirror|Broken} {Falls|Lake|Cave|Summit|Meadow|Ridge} <num2> {km|min}",
        "<animal> {Trail|Ridge|Hollow|Pass|Creek} {<nonzero> km|}",
        "{Stay|Keep} {Left|Right|on Path} {at|Past} {Oak|Creek|Bridge|Cairn}",
        "{Beware|Mind|Greet} {Falling|Loose|Sleeping} {Rocks|Trees|Bears|Cows}",
        "{Viewpoint|Trailhead|Shelter|Overlook|Glacier|Spring|Waterfall}"}},
      {"memorial plaque",
       {"<shot> a {stone|wrought-iron|teak} park bench with a {small|tarnished|polished} plaque <reads> "
        "\"<T>\" <lettering>, {fallen leaves on the seat|"
        "a pond in front|crocuses in the grass}, <daylight>. <closing>",
        "A {granite|sandstone|marble} monument in a village square <shows> \"<T>\" <lettering>, {a wreath at "
        "its foot|old lime trees around|a fountain beside "
        "it}, while <passers>, <daylight>. <closing>"},
       {"{For|To|In Honor of} <first> <last>", "<first> {Sat|Sang|Waited|Rested|Danced} Here {<year>|}",
        "{Poet|Baker|Pilot|Doctor|Sailor|Painter} {Lived|Born|Worked} Here <year>",
        "<town> {Remembers|Founded|Rebuilt} <year>"}},
      {"beach",
       {"<shot> a {wide|pebbled|windy} beach where \"<T>\" is {drawn in wet sand|spelled with shells|written "
        "with driftwood}, {waves rolling close|a bucket "
        "and spade nearby|dunes behind}, <daylight>. <closing>",
        "A beach kiosk with a {surfboard|bleached plank|striped sign} that <shows> \"<T>\" <lettering>, "
        "{folded deckchairs|ice cream cones|towels on a rail} "
        "around it, <daylight>. <closing>"},
       {"{Surf|Swim|Sail|Float|Nap} {Lessons|Club|Patrol|Hour} {<hour> <half>|<day>}",
        "{No|Cold|Free|Warm} {Diving|Jellyfish|Lemonade|Sharks|Towels} {Today|Beyond Here|Since <year>}",
        "<first> {Was Here|Loves <first>|Plus <first>|<year>}",
        "{High|Low} Tide <hour>:{0|1|2|3|4|5}<digit> <half>"}},
      {"garden tag",
       {"<shot> a {raised|tidy|overgrown} garden bed with a {slate|wooden|tin} tag <reads> \"<T>\" "
        "<lettering>, {young leaves around it|a watering can behind|"
        "bees on the flowers}, <daylight>. <closing>",
        "A greenhouse shelf of seedlings, one label <shows> \"<T>\" in {pencil|white paint|waterproof ink}, "
        "{clay pots on both sides|drops on the glass|twine and "
        "shears nearby}, <daylight>. <closing>"},
       {"{Purple|Striped|Winter|Giant|Climbing|Dwarf} {Beans|Carrots|Leeks|Squash|Kale|Peas|Tomatoes}",
        "{Basil|Mint|Sage|Chives|Parsley|Dill} {Row|Bed|Pot} <num2>",
        "{Sown|Planted|Watered|Grafted} {in|by} {<month>|<first>}",
        "{Please|Do Not} {Water|Talk to|Sing to|Pick} {Me|Us|the Peas}",
        "{Rosemary|Marjoram|Nasturtium|Artichoke|Coriander|Lovage|Sorrel|Fennel|Beetroot}"}},
      {"farm gate",
       {"<shot> a {white|crooked|five-bar} farm gate with a {painted|tin|hand-burned} sign <reads> \"<T>\" "
        "<lettering>, {a rooster on the post|hay bales in the "
        "field|a muddy track behind}, <daylight>. <closing>",
        "A barn with {red boards|an open hayloft|a tractor inside} whose wall <shows> \"<T>\" <lettering>, "
        "{sheep in the foreground|apple trees to one side|a dog "
        "keeping watch}, <daylight>. <closing>"},
       {"<last> {Farm|Orchard|Dairy|Acres|Barn}",
        "{Eggs|Goats|Hay|Honey|Pumpkins|Wool} {for Sale|Ahead|Sold Out|<num2> a Box}",
        "{Shut|Mind|Close} the {Gate|Goose|Bull|Ram} {Please|Always|<first>}",
        "{Beware|Pet|Ignore} {of |}the {Rooster|Llama|Donkey|Geese|Pony}"}},
      {"ski slope",
       {"<shot> a {snowy|steep|sunlit} slope with a {round|black|wooden} marker <reads> \"<T>\" <lettering>, "
        "{ski tracks in the powder|a chairlift overhead|pines "
        "bent with snow}, <daylight>. <closing>",
        "The lower station of a ski lift, where a {frosted|lit|folding} board <shows> \"<T>\", {skis in a "
        "rack|steam from a tea stand|children in helmets} nearby, "
        "<daylight>. <closing>"},
       {"{Lift|Gondola|Piste|Run} <num2> {Closed|Icy|Open Late|Groomed}",
        "<animal> {Run|Slope|Gully|Bowl|Glade}", "{Fresh|Deep|Wet|No} {Snow|Powder|Slush} <num2> {cm|Inches}",
        "{Avalanche|Wind|Fog|Whiteout} {Risk|Level} <nonzero>"}},
      {"protest placard",
       {"<shot> a {peaceful|colorful|rain-soaked} march, a placard <reads> \"<T>\" <lettering> above {a sea "
        "of umbrellas|drummers and whistles|raised hands}, "
        "{balconies full of people|a tram waiting behind|flags in the wind}. <closing>",
        "A {girl in a yellow coat|bearded cyclist|group of nurses|retired teacher} holding a cardboard sign "
        "that <shows> \"<T>\", {megaphones nearby|a town hall "
        "behind|a dog in a scarf beside}, <daylight>. <closing>"},
       {"{Save|Plant|Free|Protect|Count} {Our|the|More} {Trees|Rivers|Bees|Libraries|Buses|Owls}",
        "{More|Fewer|Slower|Cleaner} {Trains|Cars|Parks|Rivers|Benches} {Now|Please|for <town>}",
        "{Homes|Books|Bread|Bikes|Hope} {Not|Before|Over} {Bombs|Profit|Concrete|Fear|Malls}",
        "{Honk|March|Vote|Sing} for {Clinics|Teachers|Otters|Nurses|Silence}"}},
      {"scoreboard",
       {"<shot> a {floodlit|muddy|small-town} sports ground, the scoreboard <shows> \"<T>\" in "
        "{yellow|white|glowing} figures, {players shaking hands|fans with "
        "scarves|a goalkeeper on the grass} below, <night>. <closing>",
        "A stadium stand where fans hold up a banner <reads> \"<T>\" <lettering>, {confetti in the air|drums "
        "in the front row|flares and smoke behind}, <night>. "
        "<closing>"},
       {"{Home|Reds|Blues|Wolves|Hawks} <nonzero> {Away|Guests|Lions|Bears} <nonzero>",
        "{Go|Run|Fly|Rise} <town>", "{Set|Inning|Period|Lap|Round} <num2> {Begins|Final|Overtime}",
        "{Final|Half|Extra|Sudden} {Score|Time|Round} <num2>:<num2>"}},
      {"graffiti",
       {"<shot> a {concrete|tiled|crumbling} underpass where someone sprayed \"<T>\" in "
        "{silver|orange|turquoise|dripping black} paint, {a shopping cart nearby|weeds "
        "in the cracks|a cat on the ledge}, <daylight>. <closing>",
        "A mural on {a fire station|an old mill|a factory wall} <shows> \"<T>\" between {giant poppies|two "
        "whales|a pair of open hands}, <passers>, <daylight>. "
        "<closing>"},
       {"{Dance|Paint|Dream|Rust|Sing} {Before|Until|Without|Against} {Dawn|Rain|Fear|Rules|Sunday}",
        "{Kings|Queens|Ghosts|Poets|Rats} of {Block|Bridge|Tunnel|Street} <num2>",
        "{Nobody|Everyone|Somebody} {Owns|Loves|Left|Paints} {Tuesday|the Rain|This Wall|the Sky}",
        "{Love|Noise|Bread|Hope} {Is|Was} {Loud|Free|Here|Enough} <year>",
        "{Overgrown|Rebellion|Moonshine|Kaboom|Vertigo|Daydreamer|Echo|Wonder|Rewild}"}},
      {"campsite",
       {"<shot> a {lakeside|foggy|moonlit} campsite with a {burned wood|canvas|tin} sign <reads> \"<T>\" "
        "<lettering>, {a kettle over the fire|a tent between birches|"
        "wet boots on a line}, <night>. <closing>",
        "An enamel mug on a {log|flat stone|folding table} <shows> \"<T>\" <lettering>, {a campfire behind "
        "it|maps and a compass beside|a canoe on the shore}, "
        "<night>. <closing>"},
       {"Camp <animal> {<year>|Lake|North|Site <num2>}",
        "{Quiet|Fire|Story|Swim} {Hours|Time|Rules} {From|After} <hour> <half>",
        "{Hang|Share|Hide} {Your|the|All} {Food|Snacks|Boots|Stories} {Up High|at Night|Here}",
        "{Tents|Boats|Canoes|Cabins} <num2> to <num2>"}},
  };
  return scenes;
}

}  // namespace harness
