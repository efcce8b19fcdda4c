#include "datasets/prompt_scenes.h"

namespace harness {

std::span<const Scene> imagined_scenes() {
  static const std::vector<Scene> scenes{
      {"potion label",
       {"<shot> a {round|smoking|crystal} potion bottle in a {witch's pantry|tower room|hollow tree}, its "
        "parchment label <reads> \"<T>\" <lettering>, {dried toads|moon "
        "charts|bundles of roots} around it, <lamplight>. <closing>",
        "A wizard's {cabinet|market stall|workbench} with {bubbling flasks|floating candles|a sleepy owl} "
        "and a vial that <shows> \"<T>\" on a torn label, <lamplight>. "
        "<closing>"},
       {"{Essence|Elixir|Tears|Breath|Drops} of {Thunder|Patience|Moth|Moonlight|Regret|Courage}",
        "{Liquid|Bottled|Powdered|Pickled} {Luck|Echo|Shadow|Laughter|Lightning|Gossip} {No <nonzero>|}",
        "{One|Two|Three|Nine} {Sips|Drops|Spoons} {at|Before|After} {Dusk|Dawn|Moonrise|Tea}"}},
      {"pirate flag",
       {"<shot> a {tattered|midnight blue|patched} pirate flag <reads> \"<T>\" in "
        "{white|bone-colored|crimson} stitches, {a mast creaking above|gulls circling|waves against "
        "the hull}, stormy clouds on the horizon. <closing>",
        "A pirate's {chest|map|tavern} with {gold coins|a brass telescope|a parrot} and the words \"<T>\" "
        "{burned into the wood|written in faded ink|scratched by knife}, "
        "<lamplight>. <closing>"},
       {"{Captain|Mad|Black|One Eye|Bosun} <first> <last>",
        "{Dig|Turn|Row|Hide} {Under|Behind|Past|Beneath} {Palm|Skull|Reef|Tower} <num2>",
        "{No|Half|Free} {Mercy|Rum|Mutiny|Sharks|Parrots} {Aboard|Allowed|Before Noon}"}},
      {"knight shield",
       {"<shot> a {dented|silver|oak} shield hanging in a {torchlit|ruined|vaulted} hall, its rim <reads> "
        "\"<T>\" <lettering>, {crossed lances behind|a banner with a boar above|"
        "rushes on the floor}, <lamplight>. <closing>",
        "A knight at a {jousting field|drawbridge|forest ford} raises a banner that <shows> \"<T>\" "
        "<lettering>, {a nervous horse beside|tents in the distance|crows overhead}, "
        "<daylight>. <closing>"},
       {"{House|Order|Sons|Guild|Oath} of {Ash|Thorns|the <animal>|Embers|Iron|Hollow}",
        "Sir <first> the {Bold|Lost|Kind|Late|Tall|Silent}",
        "{By|For|With} {Crown|Sword|Honor|Bread|Fire} and {Bell|Turnip|River|Song|Stone}"}},
      {"airlock",
       {"<shot> a {scuffed|white|dim} spaceship corridor with a hatch <reads> \"<T>\" <lettering>, {warning "
        "stripes around it|cables along the ceiling|a floating wrench}, "
        "starlight through a round window. <closing>",
        "An astronaut drifts past an airlock panel that <shows> \"<T>\" in {red|green|amber} light, {the "
        "planet below|a tether behind|frost on the glass}, silence all around. "
        "<closing>"},
       {"{Airlock|Hatch|Deck|Pod|Module} <num> {Sealed|Offline|Venting|Armed|Locked}",
        "{Oxygen|Gravity|Fuel|Shield|Pressure} {at <num2>%|Stable|Failing|Nominal}",
        "{Welcome|Return} {Aboard|to} {Station|Orbit|Deck} <num2>"}},
      {"moon base",
       {"<shot> a {domed|half-buried|silent} base on the Moon, a sign beside the rover track <reads> \"<T>\" "
        "<lettering>, {footprints in gray dust|solar panels behind|Earth low "
        "on the horizon}. <closing>",
        "A Martian greenhouse with {red cliffs outside|rows of lettuce|a small robot} and a door plate that "
        "<shows> \"<T>\", thin light through the dome. <closing>"},
       {"{Crater|Dome|Base|Rover|Sector} <num> {North|Garage|Hotel|Bakery|School}",
        "{Mars|Moon|Titan|Ceres|Europa} {Post Office|Library|Diner|Ferry|Customs} {<num2>|}",
        "{Earth|Home|Phobos|Tea} <num><digit> {km|Days|Hours} {Left|Away|}"}},
      {"dragon cave",
       {"<shot> a {mossy|smoke-blackened|crystal} cave entrance, a {wooden|bone|iron} board in front <reads> "
        "\"<T>\" <lettering>, {scorched armor on the ground|glowing eyes in "
        "the dark|a heap of coins}, <night>. <closing>",
        "A {small|sleepy|emerald} dragon sits on {a pile of books|a copper kettle|a mailbox} next to a sign "
        "that <shows> \"<T>\", {sparks in the air|ferns around|a village far "
        "below}, <daylight>. <closing>"},
       {"{Dragon|Hoard|Treasure|Smoke} {Tours|Office|Naps|Repairs} {<hour> <half>|<day>}",
        "{Knights|Bards|Wizards|Heroes|Tourists} {by Invitation|Taste Bad|Use Back Door|Must Knock}",
        "{Do Not|Please|Never} {Poke|Wake|Feed|Paint} {<first>|the Dragon|the Hoard}"}},
      {"time machine",
       {"<shot> a {brass|humming|home-built} time machine in a {garage|cellar|glasshouse}, its display "
        "<shows> \"<T>\" in {nixie|amber|spinning} characters, {gears and levers "
        "around|a pocket watch on a hook|smoke on the floor}, <dark>. <closing>",
        "An inventor in {round goggles|a velvet coat|oil-stained gloves} points at a dial <reads> \"<T>\", "
        "{sparks between coils|blueprints on the wall|a startled cat}, "
        "<lamplight>. <closing>"},
       {"{Next|Last|Now} {Stop|Year|Century} <year>", "<month> <num2> <year>",
        "{{Back in|Late by|Ahead by} <num2> {Years|Ages|Days}|{Gone|Lost|Here} Since "
        "{<year>|Yesterday|Lunch|<month>}}"}},
      {"haunted door",
       {"<shot> a {creaking|ivy-covered|tall} door of a haunted house, a {bronze|cracked|crooked} plate "
        "<reads> \"<T>\" <lettering>, {bats around the chimney|a candle in the "
        "window|dead leaves on the steps}, <night>. <closing>",
        "A ghost in a {moldy|moonlit|dusty} parlor holds a {card|tray|picture frame} that <shows> \"<T>\", "
        "{cobwebs on the chandelier|a clock stuck at midnight|portraits staring}, "
        "<lamplight>. <closing>"},
       {"{Ghosts|Vampires|Witches|Phantoms|Ghouls} {Welcome|Only|by Night|Use Side Door}",
        "{Count|Lady|Baron|Madame} <last> {Is Out|Sleeps|Haunts|Returns}",
        "{Knock|Scream|Leave|Enter} {Twice|Softly|Alone|Quickly} {After <hour> <half>|}",
        "{Begone|Trespassers|Forsaken|Uninvited|Nevermore|Crypt|Shh|Boo}"}},
      {"robot",
       {"<shot> a {rusty|friendly|one-wheeled} robot in a {scrapyard|kitchen|library}, its chest display "
        "<shows> \"<T>\" in {green|pixelated|blinking} letters, {wires hanging "
        "loose|a bird on its head|tools on the floor}, <lamplight>. <closing>",
        "A {tall|chrome|cardboard} robot {serves tea|waters plants|plays chess|sorts mail} under a sign "
        "<reads> \"<T>\" <lettering>, <daylight>. <closing>"},
       {"{Unit|Robot|Model|Droid} <num> {Needs Oil|Is Happy|Learning|Confused|Online}",
        "{Charging|Thinking|Dancing|Updating|Sulking} <num2>%",
        "{Beep|Hello|Sorry|Bonjour} {Human|<first>|Master|Friend} <num2>"}},
      {"underwater station",
       {"<shot> a {deep-sea|coral-covered|glass} station with a porthole sign <reads> \"<T>\" <lettering>, "
        "{jellyfish drifting past|bubbles rising|a curious ray}, blue light from "
        "above. <closing>",
        "A diver shines a lamp on a {sunken|barnacled|mossy} plate that <shows> \"<T>\", {a wreck "
        "behind|kelp swaying|silver fish turning}, far below the surface. <closing>"},
       {"{Depth|Level|Dock|Trench} <num> {Meters|Flooded|Sealed|Fathoms}",
        "{Octopus|Whale|Squid|Lobster|Shrimp} {Crossing|School|Parking|Embassy|Taxi} {<num2>|}",
        "SS <first> <last> <year>"}},
      {"circus tent",
       {"<shot> a {striped|lantern-lit|patched} circus tent with a {painted|gilded|hand-lettered} board "
        "<reads> \"<T>\" <lettering>, {jugglers at the entrance|a unicycle against "
        "the rope|sawdust on the ground}, <night>. <closing>",
        "A traveling circus wagon whose side <shows> \"<T>\" in {gold|scarlet|swirling} letters, {a "
        "tightrope above|a drum in front|a white poodle on a barrel}, <daylight>. "
        "<closing>"},
       {"{Flying|Amazing|Tiny|Mighty|Invisible} <last> {Twins|Family|Sisters|Brothers}",
        "{Clowns|Acrobats|Fleas|Jugglers|Mimes} {Wanted|Resting|Tonight|at <hour> <half>}",
        "{Circus|Cirque|Carnival} <hue> {<year>|}",
        "{Ride|See|Meet} the {Bearded|Dancing|Singing|Sleepy} {Bear|Goat|Seal|Mule}"}},
  };
  return scenes;
}

}  // namespace harness
