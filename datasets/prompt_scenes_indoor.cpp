#include "datasets/prompt_scenes.h"

namespace harness {

std::span<const Scene> indoor_scenes() {
  static const std::vector<Scene> scenes{
      {"cafe menu",
       {"<shot> a {corner|rooftop|basement} cafe, the {chalk|felt|slate} menu <reads> \"<T>\" <lettering>, "
        "{cups hung on hooks|"
        "a plate of almond cakes|a grinder beside it} on the counter, <lamplight>. <closing>",
        "A cafe table with {two espresso cups|a pot of mint tea|a half-eaten croissant} and a folded card "
        "that <shows> \"<T>\", "
        "{rain on the window|a newspaper to one side|a small vase of daisies}, <lamplight>. <closing>"},
       {"{Iced|Spiced|Double|Bitter|Salted} {Mocha|Latte|Cocoa|Matcha|Cortado|Chai} <nonzero>{.50|.20|.80}",
        "{Soup|Cake|Quiche|Tea|Waffle} of the {Day|Week|Month|House}", "{Ask|Wait|Wave} for <first>",
        "{No|Free|More} {Laptops|Refills|Whispers|Cookies} {After|Until|Before} <hour> <half>"}},
      {"novel cover",
       {"<shot> a {worn|slim|leather-bound} novel on a {nightstand|train seat|wooden desk}, its cover "
        "<reads> \"<T>\" <lettering>, "
        "{reading glasses on top|a pressed leaf beside it|a cup of tea nearby}, <lamplight>. <closing>",
        "A book cover with the title \"<T>\" <lettering> above {a lone rowing boat|a house on a cliff|a "
        "spiral of birds|two empty "
        "chairs}, painted in {watercolor|thick oils|flat shapes}, <lamplight>. <closing>"},
       {"The <animal> {of|at|From} <town>",
        "{A|The} {Brief|Hidden|Borrowed|Patient|Broken|Distant} "
        "{Winter|Harbor|Promise|Garden|Mirror|Silence}",
        "{Letters|Songs|Notes|Lies} {to|From} <first>",
        "<num2> {Days|Nights|Rooms|Winters} {of|Without} {Rain|Snow|Light|Sleep|Salt}"}},
      {"blackboard",
       {"<shot> a {tall|village|sunny} classroom, the blackboard <shows> \"<T>\" in {white|yellow|colored} "
        "chalk, {a globe on the desk|"
        "rows of small chairs|a sponge on the ledge}, <lamplight>. <closing>",
        "A {teacher|pupil|student in a red sweater} stands beside a blackboard <reads> \"<T>\" <lettering>, "
        "{diagrams of leaves|"
        "a map with pins|sums half wiped away} around the words, <lamplight>. <closing>"},
       {"{Read|Copy|Solve|Skip} {Page|Pages|Chapter|Problem} <num>",
        "{Spelling|Algebra|Latin|Music|Botany} {Test|Quiz|Exam} <day>",
        "<nonzero> {Times|Plus|Minus} <num2> {Equals|Is} <num>",
        "{Be|Stay|Remain} {Kind|Curious|Brave|Patient} {in Class|Always|<first>}"}},
      {"museum label",
       {"<shot> a {marble|quiet|vaulted} museum hall with a small {brass|acrylic|paper} label <reads> "
        "\"<T>\" <lettering> below "
        "{a bronze helmet|a painted vase|a glass case of shells|the skeleton of a whale}, <lamplight>. "
        "<closing>",
        "A visitor leans toward a museum panel that <shows> \"<T>\", with {a ship model|an ivory comb|a "
        "woven carpet|a stone idol} behind "
        "the rope, <lamplight>. <closing>"},
       {"{Bronze|Iron|Clay|Glass|Jade|Bone} {Helmet|Comb|Bowl|Mask|Flute|Ring} {of|From} <year>",
        "{Do Not|Please Do Not|Never} {Wake|Feed|Touch|Tap} the {Mummy|Fossil|Statue|Armor|Skeleton}",
        "Gift of {Lady|Sir|Baron|Captain} <last>",
        "{Room|Hall|Gallery|Wing} <nonzero> {Textiles|Coins|Fossils|Clocks|Maps}",
        "{Trilobite|Astrolabe|Amphora|Sundial|Harpsichord|Meteorite|Sextant|Papyrus}"}},
      {"clinic sign",
       {"<shot> a {bright|spotless|small-town} clinic corridor, a {wall|ceiling|door} sign <reads> \"<T>\" "
        "<lettering>, {a row of blue chairs|"
        "a plant in the corner|a trolley with charts} below, <lamplight>. <closing>",
        "A clinic reception desk with a {clear|blue|folded} stand that <shows> \"<T>\", {a bowl of sweets|a "
        "small bell|a stack of forms} beside "
        "it, while a nurse walks by, <lamplight>. <closing>"},
       {"{Dr|Nurse|Doctor} <last> {Room|Floor|Ward} <num2>",
        "{Eye|Skin|Dental|Heart|Sleep|Hearing} {Clinic|Unit|Center|Ward} {Left|Right|Upstairs}",
        "{Wash|Warm|Show} {Your|Both} {Hands|Paws|Forms} {Here|First|Twice}",
        "{Quiet|Silence|Whisper} {Ward|Floor|Zone|Room} <num2>"}},
      {"office whiteboard",
       {"<shot> a {glass-walled|shared|cramped} office with a whiteboard <reads> \"<T>\" <lettering>, "
        "{sticky notes around it|"
        "cables under the table|empty mugs along the rail}, <lamplight>. <closing>",
        "A meeting room after hours, the whiteboard still <shows> \"<T>\" in {green|red|black} marker, "
        "{chairs pushed back|"
        "a projector humming|city lights outside}, <dark>. <closing>"},
       {"{Ship|Launch|Test|Budget|Demo|Review} {by|on|Before} {<day>|<month>}",
        "{Do Not|Never|Please} {Erase|Panic|Deploy} {Until|Before|on} <day>",
        "{Plan|Sprint|Version|Phase|Goal} <num> {Starts|Ends|Slips|Wins}",
        "{Fewer|Shorter|Kinder|Better} {Meetings|Emails|Slides|Deadlines}"}},
      {"jar label",
       {"<shot> a {farmhouse|sunny|tiled} kitchen shelf with a jar whose label <shows> \"<T>\" <lettering>, "
        "{wooden spoons|bundles of "
        "thyme|a checked cloth} beside it, <lamplight>. <closing>",
        "A jar tied with {twine|red ribbon|waxed paper} stands on a {windowsill|pantry shelf|market table}, "
        "its label <reads> \"<T>\", "
        "{seeds spilled around it|a copper pan behind|a ladle next to it}, <daylight>. <closing>"},
       {"{Plum|Quince|Fig|Onion|Cherry|Rhubarb|Tomato} {Jam|Relish|Butter|Chutney|Jelly} {<year>|No "
        "<nonzero>}",
        "{Grandma|Aunt|Uncle|Cousin} <first>'s {Honey|Pickles|Mustard|Syrup}",
        "{Do Not|Eat|Open} {Open|Me|Before} {Till|on|in} <month>",
        "{Extra|Very|Mildly|Barely} {Hot|Sour|Salty|Sweet} {Peppers|Lemons|Beets|Plums}"}},
      {"gym poster",
       {"<shot> a {basement|warehouse|school} gym, a poster on the {brick|mirrored|padded} wall <reads> "
        "\"<T>\" <lettering>, {kettlebells "
        "below|a rope coiled on the floor|towels on a rack}, <lamplight>. <closing>",
        "A boxing gym with {worn gloves|a heavy bag|a skipping rope} in front of a banner that <shows> "
        "\"<T>\", chalk dust in the air, "
        "<lamplight>. <closing>"},
       {"{One|Two|Three|Five|Nine} More {Reps|Laps|Rounds|Steps|Miles} <first>",
        "{Lift|Row|Climb|Stretch|Sweat} {Slowly|Smarter|Daily|Together|Quietly}",
        "{Yoga|Boxing|Rowing|Judo|Fencing} {<day>|Daily} <hour> <half>",
        "{Strong|Steady|Nimble|Fearless} {Legs|Hands|Hearts|Backs} {Club|Crew|Only}"}},
      {"hotel door hanger",
       {"<shot> a {carpeted|dim|seaside} hotel corridor, a card on a door handle <reads> \"<T>\" "
        "<lettering>, {a tray with a teapot on the floor|"
        "polished shoes outside|a wall lamp above}, <lamplight>. <closing>",
        "The lobby of a {grand|faded|mountain} hotel, a {brass|velvet|wooden} sign at the desk <shows> "
        "\"<T>\", {keys on numbered hooks|"
        "suitcases by the stairs|a bell on the counter}, <lamplight>. <closing>"},
       {"{Sleeping|Dreaming|Writing|Packing|Sulking} {Until|Till} {Noon|<hour> <half>|<day>}",
        "{Room|Suite|Key|Cabin} <num> {Is Yours|Missing|Upstairs|Reserved}",
        "{Please|Kindly|Do} {Ring|Knock|Whisper|Wait} {Twice|Softly|Once}",
        "Hotel <hue> {Swan|Palm|Anchor|Crown|Lily}"}},
      {"concert poster",
       {"<shot> a {torn|silkscreen|folded} concert poster on a {brick wall|kiosk|lamp post}, <reads> \"<T>\" "
        "<lettering> over {a drawing of a "
        "trumpet|a swirl of colors|a dancing skeleton}, <daylight>. <closing>",
        "A {jazz|folk|punk|synth} concert poster with \"<T>\" across the middle <lettering>, {tape at the "
        "corners|older posters underneath|"
        "a silhouette of a singer below}, <dark>. <closing>"},
       {"The <hue> {Kettles|Ghosts|Sparrows|Pilots|Cousins|Engines} {Live|<day>}",
        "<first> <last> {Trio|Quartet|Band|Choir}",
        "{Loud|Slow|Tiny|Sad|Electric} <animal> {Tour|Live|Sings} {<year>|}",
        "{Free|Secret|Midnight|Outdoor} {Gig|Concert|Encore} <day> <hour> <half>"}},
      {"newspaper headline",
       {"<shot> a {folded|rain-spotted|yellowed} newspaper on a {park bench|kitchen table|doormat}, the "
        "headline <reads> \"<T>\" <lettering>, "
        "{coffee rings on the page|a photo of a crowd below|a pair of scissors on top}, <lamplight>. "
        "<closing>",
        "A newsstand with {magazines in rows|a seller in a cap|bundles tied with string}, the front page "
        "<shows> \"<T>\", while <passers>, "
        "<daylight>. <closing>"},
       {"{Mayor|Chef|Pilot|Goat|Choir|Poet} {Wins|Loses|Buys|Saves|Finds} {Lake|Bridge|Castle|Train|Tower}",
        "{Snow|Storm|Fog|Heat|Flood} {Closes|Stops|Delays} <town>",
        "<animal> {Elected|Found|Seen|Honored} in <town>",
        "{Bread|Train|Rent|Onion} {Prices|Strike|Talks} {Up|Down|Ends} <num2>%"}},
      {"greeting card",
       {"<shot> a {folded|hand-made|letterpress} card standing on a {mantelpiece|breakfast tray|piano}, "
        "<reads> \"<T>\" <lettering>, {pressed "
        "flowers around it|an envelope behind|a candle beside it}, <lamplight>. <closing>",
        "A greeting card with {a watercolor wreath|two drawn hedgehogs|gold dots|a paper balloon} and the "
        "words \"<T>\" <lettering>, lying on {linen|"
        "dark wood|wrapping paper}, <lamplight>. <closing>"},
       {"{Happy|Merry|Joyful|Quiet} <num2>{th|} {Birthday|Jubilee|Name Day}{| <first>}",
        "{Miss You|Thank You|Get Well|Love You|Write Soon} <first>",
        "{Two|Three|Six|Ten|Fifty} Years of {Us|Luck|Joy|Tea}",
        "{Welcome|Hello} {Baby|Little|Tiny} <first>"}},
      {"birthday cake",
       {"<shot> a {three-layer|lopsided|square} cake with \"<T>\" piped on top in {chocolate|pink|white} "
        "icing, {candles around the edge|sugar stars|"
        "fresh berries beside it}, paper plates ready, <lamplight>. <closing>",
        "A party table with a cake that <shows> \"<T>\" in {curly|careful|shaky} icing, {balloons tied to "
        "chairs|a garland above|children reaching "
        "for forks}, <lamplight>. <closing>"},
       {"{Hooray|Cheers|Bravo|Sorry|Congrats} <first> {<num2>|}", "<first> {Is|Turns} <num2>",
        "{Best|Bravest|Oldest|Loudest} {Sister|Uncle|Nurse|Coach|Neighbor} {Ever|of <year>}",
        "{New Job|Goodbye|Well Done|You Did It} <first>"}},
      {"slogan shirt",
       {"<shot> a {faded|black|oversized} shirt on a {clothes line|wooden hanger|market rail}, printed with "
        "\"<T>\" <lettering>, {pegs holding the "
        "sleeves|other shirts beside it|a brick wall behind}, <daylight>. <closing>",
        "A {skateboarder|grandmother|drummer|gardener} wearing a shirt <reads> \"<T>\", {laughing at the "
        "camera|leaning on a fence|holding a melon}, "
        "<daylight>. <closing>"},
       {"{Ask|Feed|Trust|Blame|Follow} {Me|My} {About|}{ Cats| Jazz| Moths| Trains| Cheese}",
        "{Powered|Ruled|Saved|Raised} by {Noodles|Naps|Basil|Disco|Wolves|Toast}", "Team <animal> <num2>",
        "{Professional|Weekend|Reluctant|Proud} {Napper|Dancer|Poet|Camper|Juggler}",
        "{Overthinker|Introvert|Cheesemonger|Nope|Maybe|Sunburnt|Antihero|Yodeler|Hydrated}"}},
      {"tattoo",
       {"<shot> a {forearm|shoulder|wrist} with a {fine-line|traditional|freshly done} tattoo <reads> "
        "\"<T>\", {a swallow beside the words|a small "
        "compass below|thin leaves around it}, skin lightly tanned, <lamplight>. <closing>",
        "A tattoo studio, the artist wipes ink from {an ankle|a shoulder blade|an upper arm} where \"<T>\" "
        "<lettering> has just been finished, "
        "{sketches on the wall|a lamp bent close|gloves on the tray}, <lamplight>. <closing>"},
       {"{Stay|Grow|Remain|Return|Begin} {Gentle|Wild|Rooted|Awake|Again}",
        "{For|With|Like} {My|Our} {Mother|Brother|Daughter|River|Sea}",
        "<first> {<year>|Forever|and <first>}",
        "{Salt|Ash|Bone|Iron|Storm} {and|Over|Before} {Honey|Silk|Light|Water|Gold}",
        "{Onward|Wanderer|Resilience|Solstice|Daybreak|Unbroken|Serendipity|Hush|Ember|Everglow|Nomad|"
        "Solace}"}},
      {"record sleeve",
       {"<shot> a {vinyl|scratched|limited} record sleeve leaning against a {turntable|crate|lamp}, <reads> "
        "\"<T>\" <lettering>, {a photo of a "
        "foggy pier|abstract triangles|a sleeping dog} on the front, <lamplight>. <closing>",
        "A record shop bin where one sleeve <shows> \"<T>\" <lettering>, {hands flipping through the "
        "rest|price stickers in the corner|headphones on a "
        "hook}, <lamplight>. <closing>"},
       {"{Songs|Blues|Hymns|Waltzes|Echoes} {for|From|After} <town>", "{Live|Lost|Alone} {at|in} <town>",
        "<hue> {Static|Tide|Velvet|Thunder|Motel|Avenue} {Vol <nonzero>|}",
        "{Hold|Lose|Wake|Call} Me {Slowly|Tomorrow|Sideways|Again} <first>"}},
      {"wine label",
       {"<shot> a {green|dusty|half-empty} bottle on a {cellar shelf|picnic blanket|stone ledge}, its label "
        "<reads> \"<T>\" <lettering>, {grapes and "
        "bread beside it|a corkscrew nearby|cobwebs behind}, <lamplight>. <closing>",
        "A cellar with {oak barrels|vaulted brick|candles on a cask} and a bottle whose label <shows> "
        "\"<T>\", the paper {slightly torn|edged in gold|"
        "stained at one corner}, <lamplight>. <closing>"},
       {"{Old|Dry|Noble|Velvet|Stubborn} {Vine|Cellar|Barrel|Plum|Goat} <year>",
        "{Chateau|Domaine|Casa|Villa} <last> <year>",
        "{Elder|Apple|Cherry|Ginger|Quince} {Cider|Cordial|Brandy|Mead} <num2>%"}},
      {"board game box",
       {"<shot> a {battered|colorful|oversized} board game box on a {rug|cafe table|shelf}, the lid <reads> "
        "\"<T>\" <lettering>, {dice and wooden pieces "
        "around it|cards spread out|a timer running}, <lamplight>. <closing>",
        "Friends around a table with {tokens in piles|a paper map|a score pad}, the open box lid <shows> "
        "\"<T>\", {snacks within reach|a lamp hanging "
        "low|rain at the window}, <lamplight>. <closing>"},
       {"{Traders|Thieves|Keepers|Barons|Ferries} of <town>",
        "{Panic|Picnic|Mutiny|Gossip|Auction} {at|on|in} {Sea|the Moon|Court|<day>}",
        "<nonzero> to <nonzero> {Players|Sailors|Wizards|Bakers}",
        "{Goat|Turnip|Castle|Comet|Noodle} {Empire|Express|Rescue|Tycoon} {<year>|}"}},
  };
  return scenes;
}

}  // namespace harness
