#include "datasets/prompt_scenes.h"

namespace harness {

std::span<const Scene> screen_scenes() {
  static const std::vector<Scene> scenes{
      {"smartwatch",
       {"<shot> a {slim|round|scratched} smartwatch on a {runner's|gardener's|swimmer's} wrist, its screen "
        "<shows> \"<T>\" in {white|mint|orange} digits and letters, "
        "{a blurred path behind|sweat on the skin|sunlight on the strap}. <closing>",
        "A smartwatch on a {bedside table|charging stand|gym bench} lights up and <shows> \"<T>\", {a glass "
        "of water beside it|a crumpled towel nearby|dark room "
        "around}, <dark>. <closing>"},
       {"{Stand|Stretch|Breathe|Drink|Walk} {Now|Soon|Again} {<num2> min|<first>}",
        "{Pulse|Steps|Heart Rate|Laps} <num> {OK|High|Low|Today}",
        "{Alarm|Timer|Meeting|Train} in <num2> {min|Minutes}",
        "{Goal|Streak|Record|Day} <num> {Reached|Broken|Complete}"}},
      {"phone notification",
       {"<shot> a phone on a {cafe table|car seat|stack of books}, a message on its screen <reads> \"<T>\" "
        "in {small|friendly|rounded} letters, {a half-peeled "
        "orange beside it|keys next to it|crumbs around}, <lamplight>. <closing>",
        "A hand holding a phone with a {cracked|bright|dimmed} screen that <shows> \"<T>\", {a tram window "
        "behind|a crowded hall around|rain on the glass}, "
        "<dark>. <closing>"},
       {"{Missed|Incoming|Unknown} Call {From |}<first>", "{Battery|Storage|Signal} {Low|Full|Lost} <num2>%",
        "{Parcel|Taxi|Pizza|Package|Bus} {Arrives|Is Here|Delayed} {<hour>:<nonzero><digit>|Soon}",
        "{Call|Text|Thank|Forgive} {Me|Mom|Dad|<first>} {Later|Back|Now|Please}"}},
      {"computer terminal",
       {"<shot> a {humming|beige|dusty} computer in a {server room|basement lab|control room}, the green "
        "terminal <shows> \"<T>\" beneath a blinking cursor, "
        "{tangled cables|coffee mugs|a paper printout} beside it, <dark>. <closing>",
        "A programmer at {a standing desk|two monitors|an old keyboard} stares at a window <reads> \"<T>\" "
        "in {monospace|amber|bright} characters, {a plant near the "
        "lamp|notes on the wall|headphones on}, <dark>. <closing>"},
       {"{Error|Warning|Exit|Code} <num> {Disk|Fan|Printer|Kernel|Memory} {Full|Failed|Lost|OK}",
        "{Build|Test|Backup|Update} {Passed|Failed|Done} {in <num2> s|<num2>%|Again}",
        "{Loading|Saving|Erasing|Sorting} {Dreams|Files|Moon Data|Recipes} <num2>%",
        "{Hello|Goodbye|Welcome} {Operator|User|Captain|Node} <num>",
        "{Ready|Overheating|Compiling|Disconnected|Rebooting|Unplugged|Listening|Encrypted|Idle|Syncing}"}},
      {"car dashboard",
       {"<shot> a {vintage|modern|dusty} car dashboard at {dusk|dawn|night}, the display <shows> \"<T>\" in "
        "{amber|blue|red} characters, {a road winding ahead|rain "
        "on the windshield|a map on the seat}. <closing>",
        "Inside a {camper van|police car|rally car|taxi} the small screen above the radio <reads> \"<T>\", "
        "{gloved hands on the wheel|a plastic flower on the vent|"
        "snow outside}, <dark>. <closing>"},
       {"{Oil|Engine|Coolant|Tire|Battery} {Low|Check|Warning} {<num2>%|Soon|}",
        "{Turn|Keep|Merge} {Left|Right} in <num> m", "{Radio|Channel|Station} {<num2>.<digit>|<last>}",
        "{Take a|Need a|No} {Break|Rest|Coffee} {in|for} <num2> {min|km}"}},
      {"arcade screen",
       {"<shot> an arcade machine in a {carpeted|crowded|forgotten} hall, the screen <shows> \"<T>\" in "
        "{chunky|pixelated|glowing} letters over {a starfield|a castle|"
        "falling blocks}, {worn buttons below|tokens on the ledge|kids around it}. <closing>",
        "A handheld game console on {a bus seat|a bunk bed|a picnic table} displays \"<T>\" in "
        "{pixel|blinking|rainbow} letters above {a tiny knight|a jumping frog|a "
        "spinning coin}, <lamplight>. <closing>"},
       {"{Level|Stage|World|Wave} <num> {Clear|Start|Boss|Bonus|Failed}",
        "{Insert|Need|Spend} <nonzero> {Coins|Gems|Tokens|Keys}",
        "{High|Top|New} {Score|Record} {<num><num>|<first>}",
        "{Player|Hero|Pilot|Knight} <nonzero> {Wins|Joined|Respawns|Ready}",
        "{Continue|Paused|Respawn|Victory|Combo|Jackpot|Ouch|Unlocked}"}},
      {"weather display",
       {"<shot> a {rooftop|mountain|harbor} weather station, its panel <shows> \"<T>\" in "
        "{dark|bright|segmented} characters, {spinning cups above|ice on the rail|"
        "antennas around}, <daylight>. <closing>",
        "A digital display over a {pharmacy|bank|town hall} <reads> \"<T>\", {cars passing below|a cold wind "
        "lifting leaves|a crowd waiting to cross}, <night>. "
        "<closing>"},
       {"{Wind|Gusts|Rain|Snow|Humidity} <num2> {km/h|mm|%} {<town>|}",
        "{Sunny|Cloudy|Foggy|Windy|Stormy|Frosty} {<day>|Until <hour> <half>|<num2> Degrees}",
        "{Storm|Flood|Frost|Heat} {Watch|Alert|Warning} <town>"}},
      {"radio tuner",
       {"<shot> a {walnut|bakelite|portable} radio on a {workbench|windowsill|kitchen shelf}, its lit dial "
        "<shows> \"<T>\", {a lace curtain behind|tools hung on the "
        "wall|a bowl of plums nearby}, <lamplight>. <closing>",
        "A recording studio where a {red|round|glass} sign above the door <shows> \"<T>\", {microphones on "
        "stands|a mixing desk in front|foam on the walls}, <dark>. "
        "<closing>"},
       {"{Radio|Voice of|Studio} <town>", "{On|Off|Back on} Air {Until|at|From} <hour> <half>",
        "{Jazz|News|Opera|Weather|Polka} {Hour|FM|Tonight|Radio} <num2>.<digit>",
        "{Recording|Rehearsal|Interlude|Static|Intermission|Silence|Broadcast}"}},
      {"airport board",
       {"<shot> a {bright|marble|quiet} airport hall, the departures board <shows> \"<T>\" in "
        "{yellow|white|flipping} letters, {travelers with backpacks|a sleeping "
        "family|a cart of suitcases} below, <lamplight>. <closing>",
        "An airport gate with {rows of seats|tall windows|a folded stroller} and a screen <reads> \"<T>\", "
        "an aircraft waiting outside, <dark>. <closing>"},
       {"{Flight|Gate|Bag Belt|Seat} <num> {Boarding|Delayed|Cancelled|Landed|Closing}",
        "<town> <hour>:{0|1|2|3|4|5}<digit> {Gate <num2>|On Time|Late}",
        "{Passports|Liquids|Shoes|Laptops} {Out|Ready|Off|in Tray} {Please|Now|<nonzero>}"}},
  };
  return scenes;
}

}  // namespace harness
