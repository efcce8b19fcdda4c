#include "datasets/prompt_scenes.h"

namespace harness {

std::span<const Scene> street_scenes() {
  static const std::vector<Scene> scenes{
      {"bakery",
       {"<shot> a {narrow|tidy|corner} bakery front, its {chalkboard|wooden sign|paper banner} <reads> "
        "\"<T>\" <lettering>, "
        "with {trays of rolls|round loaves|a basket of buns} behind the glass while <passers>, <daylight>. "
        "<closing>",
        "A {small|busy|family-run} bakery opens for the day, and a {hand-painted|slightly crooked|freshly "
        "wiped} board above "
        "the counter <shows> \"<T>\". {Flour covers the table|Steam rises from the ovens|A baker ties an "
        "apron}, <lamplight>. <closing>"},
       {"{Warm|Fresh|Crusty|Dark|Sweet|Seeded} {Rye|Barley|Oat|Walnut|Olive|Potato|Honey} "
        "{Loaves|Rolls|Bread|Buns}",
        "{Pretzels|Scones|Rolls|Bagels|Pies|Tarts} From <hour> <half>",
        "{First|Last|Next} {Batch|Tray|Oven} at <hour> <half>",
        "{Try|Ask For|Taste} Our {Plum|Cherry|Apricot|Pear|Fig|Lemon} {Tart|Cake|Pie|Strudel}"}},
      {"bookshop",
       {"<shot> a {crowded|quiet|sunlit} bookshop window with a {cardboard|painted|framed} sign <reads> "
        "\"<T>\" <lettering>, "
        "{stacks of novels|old atlases|cloth-bound volumes} all around it, <daylight>, while <passers>. "
        "<closing>",
        "A {crooked|green|weathered} bookshop on a {steep|cobbled|quiet} lane, the board over its door "
        "<shows> \"<T>\", "
        "{a cat asleep among the books|a ladder against the shelves|a rack of maps outside}, <night>. "
        "<closing>"},
       {"{Rare|Used|Signed|Quiet|Lost|Tall} {Maps|Novels|Poems|Letters|Stories|Atlases} "
        "{Within|Upstairs|Inside|Below}",
        "{Poetry|History|Travel|Science|Mystery|Theater} on Floor <nonzero>",
        "<last> and {Sons|Daughters|Sisters|Friends} Books",
        "{Buy|Trade|Borrow} {Two|Three|Four|Five} Read {More|One Free}"}},
      {"barber",
       {"<shot> a {retro|tiled|cheerful} barber shop with a turning pole and a {mirror|glass door|enamel "
        "sign} <reads> "
        "\"<T>\" <lettering>, {leather chairs in a row|combs in blue jars|a radio on the shelf}, "
        "<lamplight>. <closing>",
        "An old street with a barber shop at the corner, its window <shows> \"<T>\" in {gold leaf|red "
        "script|white enamel}, "
        "{striped awnings above|a bench by the door|bottles of tonic on display}, <daylight>. <closing>"},
       {"{Cuts|Shaves|Trims|Fades} {by|With} <first>",
        "{Hot|Clean|Quick|Classic|Royal} {Shave|Towel|Trim|Fade} <num2> {Cents|Dollars|Euro}",
        "{Walk In|No Wait|Closed|Half Price} on <day>",
        "<hue> {Razor|Scissors|Comb|Mirror} {Barbers|Parlor|Studio|Shop}"}},
      {"bicycle workshop",
       {"<shot> a {cluttered|bright|backyard} bicycle workshop, a {steel|round|hand-cut} plate on the wall "
        "<reads> \"<T>\" "
        "<lettering>, {wheels hanging from hooks|a frame in the stand|boxes of bells and chains}, "
        "<lamplight>. <closing>",
        "A bicycle shop beside a canal, where a {folding|striped|chalk} board <shows> \"<T>\" and <passers>. "
        "{Cargo bikes stand in line|Tires hang over the door|A pump is chained to the rail}, <daylight>. "
        "<closing>"},
       {"{Tires|Brakes|Chains|Spokes|Saddles} {Fixed|Checked|Tuned} {Today|While U Wait|by Noon}",
        "{Free|Public|Fast} {Air|Pump|Tools|Advice} {Here|Inside|Round Back}",
        "<animal> {Cycles|Wheels|Bikes|Gears}",
        "{Rent|Hire|Ride} a {Tandem|Cargo Bike|Trike|Racer} <num2> a Day"}},
      {"florist",
       {"<shot> a {tiny|fragrant|shaded} flower stall with a {slate|wicker|zinc} tag <reads> \"<T>\" "
        "<lettering>, "
        "{buckets of tulips|bundles of eucalyptus|sunflowers in tall vases} around it, <daylight>. <closing>",
        "A florist arranges a window where a {ribbon|hanging card|painted panel} <shows> \"<T>\", surrounded "
        "by "
        "{peonies and ferns|dried wheat and lavender|orchids in moss}, and <passers>, <daylight>. <closing>"},
       {"{Tulips|Roses|Dahlias|Lilies|Asters|Poppies} {for|From} <first>",
        "{Ten|Six|Nine|Twelve} {Tulips|Roses|Dahlias|Irises} <num2> {Coins|Crowns|Francs}",
        "{Wild|Pressed|Late|Early|Alpine} {Meadow|Garden|Valley|Orchard} {Blooms|Bouquets|Posies}",
        "{Sorry|Thank You|Get Well|Good Luck} <first>",
        "{Hydrangeas|Lavender|Carnations|Snowdrops|Anemones|Peonies}"}},
      {"laundromat",
       {"<shot> a {nearly empty|pastel|tiled} laundromat with a {printed|laminated|hand-drawn} notice "
        "<reads> \"<T>\" taped to a "
        "machine, {socks on a line|a basket of towels|soap in bright boxes} nearby, <lamplight>. <closing>",
        "A laundromat on a rainy corner glows from within, its sign <shows> \"<T>\" <neon>, "
        "{drums turning slowly|a student reading on a bench|steam on the glass}, <night>. <closing>"},
       {"{Wash|Dry|Fold|Press} {Only|First|Twice} {Please|Always|on <day>}",
        "{Dryer|Washer|Machine} <num> {Is Broken|Eats Socks|Out of Soap|Needs Coins}",
        "{Lost|Found|Missing} {Sock|Glove|Button|Scarf} {Club|Corner|Box|Shelf}",
        "{Spin|Bubble|Suds|Foam} {City|Palace|Station|Brothers}"}},
      {"hardware store",
       {"<shot> a {dusty|long|old-fashioned} hardware store aisle, a {hanging|yellow|metal} sign <reads> "
        "\"<T>\" <lettering>, "
        "{drawers full of screws|coils of rope|paint tins in rows} on both sides, <lamplight>. <closing>",
        "A hardware store with {garden rakes|tin buckets|ladders} out front, a board by the entrance <shows> "
        "\"<T>\" <lettering>, "
        "<passers>, <daylight>. <closing>"},
       {"{Nails|Screws|Bolts|Hinges|Hooks|Washers} {by|Sold by} the {Pound|Dozen|Box|Meter}",
        "{Hammers|Ladders|Shovels|Buckets|Saws} Aisle <num>",
        "{Sharp|Strong|Sturdy|Honest} {Tools|Saws|Ropes|Locks} {Since|of} <year>",
        "{Keys|Knives|Glass|Pipes} Cut {Here|While U Wait|in <nonzero> Minutes}",
        "{Turpentine|Sandpaper|Hinges|Plywood|Batteries|Rope|Varnish|Sawdust}"}},
      {"fish market",
       {"<shot> a {noisy|cold|harborside} fish market, a {wooden|wet|blue} board over crushed ice <reads> "
        "\"<T>\" <lettering>, "
        "{crates of mussels|silver herring|a scale with brass weights} in front, <daylight>. <closing>",
        "At a market stall by the quay a {waxed paper|plastic|painted} sign <shows> \"<T>\", {gulls watching "
        "from a roof|"
        "ropes and nets behind|a seller in rubber boots}, while <passers>, <daylight>. <closing>"},
       {"{Cod|Trout|Herring|Mussels|Crab|Squid|Salmon} {Caught|Landed} {Today|at Dawn|on <day>}",
        "{Smoked|Salted|Iced|Fresh} {Eel|Mackerel|Oysters|Sardines|Perch} <num2>",
        "{Wild|Local|Clever|Honest} <town> {Crab|Cod|Trout|Bass}"}},
      {"tailor",
       {"<shot> a {velvet|mirrored|narrow} tailor's room with a {brass plate|garment tag|fabric label} "
        "<reads> \"<T>\" <lettering>, "
        "{spools of thread|a half-sewn jacket|chalk and shears} on the table, <lamplight>. <closing>",
        "A close view of the inside of a {wool coat|silk jacket|tweed vest}, its woven label <shows> \"<T>\" "
        "in {gold|pale gray|dark red} "
        "thread, {loose stitches beside it|horn buttons below|a tape measure across the lining}, "
        "<lamplight>. <closing>"},
       {"{Sewn|Cut|Made|Fitted|Mended} {by|for} <first> <last>",
        "{Wool|Linen|Silk|Tweed|Velvet} {of|From} <town>",
        "{Hand|Cold|Wash} {Wash|Dry|Rinse} {Size|No} <num2>",
        "{Buttons|Hems|Zips|Cuffs} {Mended|Replaced|Shortened} {Daily|in a Day|for <num2>}"}},
      {"cinema marquee",
       {"<shot> a {small town|grand|half-restored} cinema, its marquee <reads> \"<T>\" in "
        "{black|red|movable} letters above "
        "{a ticket booth|glass doors|a short queue}, <passers>, <night>. <closing>",
        "A cinema facade with {rows of bulbs|curved chrome|velvet ropes}, the lit panel <shows> \"<T>\" "
        "<neon>, "
        "{posters in frames below|a taxi at the curb|popcorn on the steps}, <night>. <closing>"},
       {"{Return|Night|Song|Dance|Curse|Island} of the <animal>",
        "{Double|Late|Silent|Final|Secret} {Feature|Matinee|Premiere|Screening} <hour> <half>",
        "The <hue> {Letter|Staircase|Lantern|Orchard|Violin|Passport}",
        "<first> {Goes North|Sails Home|Never Sleeps|Finds Rome|Walks Alone}"}},
      {"billboard",
       {"<shot> a {giant|sun-bleached|freshly pasted} billboard {beside a motorway|on a flat roof|over a "
        "parking lot} <reads> "
        "\"<T>\" <lettering>, {power lines behind it|hills in the distance|a water tower nearby}, "
        "<daylight>. <closing>",
        "A city crossing with a billboard that <shows> \"<T>\" next to {a smiling face|a huge orange|a pair "
        "of boots}, "
        "{trams below|scooters waiting at the light|balconies on both sides}, <night>. <closing>"},
       {"{Think|Dream|Drive|Breathe|Shop} {Slow|Bigger|Local|Twice|Green} {Today|This Week|in <town>}",
        "{Juice|Sofas|Boots|Tires|Tea|Soap} {You|We|They} {Trust|Love|Deserve}",
        "{Exit|Gate|Mile|Route} <num> {Peaches|Pancakes|Fireworks|Motel|Cider}",
        "{Save|Win|Borrow} <num> {Coins|Hours|Miles|Crowns} {Now|Today}"}},
      {"neon diner",
       {"<shot> a {chrome|roadside|round-cornered} diner with a sign <reads> \"<T>\" <neon>, {booths visible "
        "inside|"
        "a pickup parked outside|coffee cups on the counter}, <night>. <closing>",
        "A {lonely|cheerful|tiny} diner at the edge of town, the roof sign <shows> \"<T>\" <neon>, "
        "<passers>, "
        "{steam from the kitchen vent|gravel in the lot|a jukebox by the window}, <night>. <closing>"},
       {"{Bottomless|Black|Strong|Fresh|Endless} {Coffee|Chowder|Pancakes|Waffles|Lemonade} {Here|All "
        "Night|Ahead}",
        "<first>'s {Diner|Grill|Counter|Kitchen|Pie Bar}",
        "{Pie|Soup|Chili|Toast|Hash} {After Dark|Till <hour> <half>|for <num2> Cents}",
        "{Pancakes|Milkshakes|Vacancy|Doughnuts|Breakfast|Chowder|Open|Cocktails|Burritos}"}},
      {"delivery van",
       {"<shot> a {mint green|dented|vintage} delivery van with \"<T>\" painted on its side <lettering>, "
        "{crates by the rear door|"
        "a driver checking a list|a ramp let down} on a {steep|leafy|narrow} street, <daylight>. <closing>",
        "A delivery van parked {outside a school|by the harbor|under plane trees}, the panel above its "
        "wheels <shows> \"<T>\", while "
        "<passers>, <daylight>. <closing>"},
       {"<last> {Dairy|Pianos|Removals|Plumbing|Catering|Flowers}",
        "{Milk|Ice|Coal|Paper|Piano|Soup} {to|At} Your Door",
        "{Swift|Gentle|Careful|Punctual|Steady} {Movers|Couriers|Parcels|Bakers} <num>",
        "How Is <first> Driving"}},
      {"street market banner",
       {"<shot> a {weekend|lantern-lit|crowded} street market under a {cloth|canvas|striped} banner <reads> "
        "\"<T>\" <lettering>, "
        "{stalls of fruit|lanterns and paper kites|piles of rugs} on both sides, and <passers>. <closing>",
        "A banner hung across a {narrow|festive|winding} street <shows> \"<T>\" <lettering>, {flags between "
        "the houses|a brass band below|"
        "children on shoulders}, <daylight>. <closing>"},
       {"<month> {Fair|Market|Parade|Feast|Harvest} <year>", "<town> {Fair|Feast|Market|Flea Market}",
        "{Lantern|Cheese|Kite|Onion|Apple|Puppet} {Festival|Night|Week|Parade} <year>",
        "{Welcome|Hello|Cheers} {Sailors|Cousins|Farmers|Dancers} <year>"}},
  };
  return scenes;
}

}  // namespace harness
