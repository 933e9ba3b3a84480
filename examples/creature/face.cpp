#include "face.h"

namespace creature {
namespace {

using Sprite = std::array<const char*, kPictureLines>;

// L and R are eyes, M is the mouth; A and Z are ears.
constexpr std::array<std::array<Sprite, kFrames>, kBehaviours> kSprites = {{
    {{{"                   ",  // sit
       "    A_____Z        ", "   (  L R  )       ", "   (   M   )       ", "   /       \\~~.    ",
       "  (_|_)-(_|_)  )@  "},
      {"                   ", "    A_____Z        ", "   (  L R  )       ", "   (   M   )   .@  ",
       "   /       \\~~'    ", "  (_|_)-(_|_)      "}}},
    {{{"   A_________Z     ",  // come
       "  (   L   R   )    ", "  (     M     )    ", "   \\  .---.  /     ", "   /  |   |  \\~~@  ",
       "  (___)   (___)    "},
      {"   A_________Z     ", "  (   L   R   )    ", "  (     M     )    ", "   \\  .---.  / .@  ",
       "   /  |   |  \\~'   ", "   (___) (___)     "}}},
    {{{"                   ",  // spin
       "    A_____Z   )    ", "   (  L R  )  )    ", "   (   M   )       ", " ( /       \\~~@    ",
       "  (_|_)-(_|_)      "},
      {"                   ", "  ( A_____Z        ", "  ((       )  )    ", "   (   ~   )  )    ",
       " @~~\\     /   )    ", "   (_|_)-(_|_)     "}}},
    {{{"     ♪             ",  // dance
       "    A_____Z   ♫    ", " \\ (  L R  )       ", "  \\(   M   )/      ", "   /       \\~~~@   ",
       "   (_)   \\_)       "},
      {"            ♫      ", " ♪  A_____Z        ", "   (  L R  ) /     ", "  \\(   M   )/      ",
       " @~/       \\       ", "    (_/   (_)      "}}},
    {{{"             ♪     ",  // sing
       "    A_____Z    ♫   ", "   (  L R  ) ♪     ", "   (   O   )       ", "   /       \\~~.    ",
       "  (_|_)-(_|_)  )@  "},
      {"              ♫    ", "    A_____Z  ♪     ", "   (  L R  )    ♪  ", "   (   o   )       ",
       "   /       \\~~.    ", "  (_|_)-(_|_)  )@  "}}},
    {{{"                   ",  // play
       "    A_____Z        ", "   (  L R  )       ", "   (   M   )  @    ", "   /     \\_\\_/ )   ",
       "  (_|_)-(__)~~'    "},
      {"               @   ", "    A_____Z   / )  ", "   (  L R  ) / /   ", "   (   M   )/ (    ",
       "   /       \\   )   ", "  (_|_)-(_|_)~~    "}}},
    {{{"          ♥        ",  // purr
       "    A_____Z  ♥     ", "   (  L R  )       ", "   (   M   ) prrr  ", "   /       \\~~.    ",
       "  (___)-(___)  )@  "},
      {"            ♥      ", "    A_____Z        ", "   (  L R  )  ♥    ", "   (   M   ) rrrr  ",
       "   /       \\~~.    ", "  (___)-(___)  )@  "}}},
    {{{"                   ",  // eat
       "    A_____Z        ", "   (  L R  )       ", "   (   M   ) nom   ", "   / \\___/ \\~~@    ",
       "  (_|\\___/|_)      "},
      {"                   ", "    A_____Z        ", "   (  L R  )  nom  ", "   (   O   )       ",
       "   / \\___/ \\~~@    ", "  (_|\\___/|_)      "}}},
    {{{"              z    ",  // sleep
       "            z      ", "    _______        ", "   / A___Z \\__     ", "  (  - M -    )~.  ",
       "   `---------'  @  "},
      {"             z     ", "           z       ", "    ________       ", "   / A___Z  \\_     ",
       "  (  - M -    )~.  ", "   `---------'  @  "}}},
    {{{"                   ",  // hide
       "    ___________    ", "   |   L   R   |   ", "  _|___________|_  ", "  \\    THIS     /  ",
       "   \\__SIDE UP__/~@ "},
      {"                   ", "    ___________    ", "   |           |   ", "  _|__L___R____|_  ",
       "  \\    THIS     /  ", "   \\__SIDE UP__/~@ "}}},
}};

struct Features {
  const char *left_ear, *right_ear, *eyes, *mouth;
};

Features features(const Look& look) {
  const Mood& m = look.mood;
  Features f{"/\\", "/\\", "o", "w"};
  if (m.joy > 700) f.eyes = "^";
  if (m.energy < 200) f.eyes = "-";
  if (m.joy < 300) f.eyes = m.trust < 250 ? "." : ";", f.mouth = "n";
  if (m.hunger > 800) f.mouth = "o";
  if (look.behaviour == Behaviour::purr || look.behaviour == Behaviour::sing) f.eyes = m.joy < 300 ? "-" : "^";
  if (m.trust < 250 || m.joy < 250) f.left_ear = ",\\", f.right_ear = "/,";  // ears laid back
  if (look.puzzled) f.eyes = "o", f.mouth = "?";
  if (look.startled) f.eyes = "O", f.mouth = "~", f.left_ear = ",\\", f.right_ear = "/,";
  if (look.blinking) f.eyes = "-";
  return f;
}

}  // namespace

std::size_t columns(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return count;
}

std::array<std::string, kPictureLines> picture(const Look& look, std::size_t frame) {
  const Sprite& sprite = kSprites[static_cast<std::size_t>(look.behaviour)][frame % kFrames];
  const Features f = features(look);
  std::array<std::string, kPictureLines> lines;
  for (std::size_t i = 0; i < kPictureLines; ++i) {
    const std::string_view from = sprite[i];
    const bool sign = from.find("SIDE") != from.npos || from.find("THIS") != from.npos;  // the box is printed on
    for (std::size_t c = 0; c < from.size(); ++c) {
      switch (sign ? ' ' : from[c]) {
        // Ears are two columns wide and stand over the head's edge.
        case 'A': lines[i] += f.left_ear, ++c; break;
        case 'Z': lines[i].pop_back(), lines[i] += f.right_ear; break;
        case 'L': lines[i] += f.eyes; break;
        case 'R': lines[i] += look.puzzled && !look.blinking ? "O" : f.eyes; break;
        case 'M': lines[i] += f.mouth; break;
        default: lines[i] += from[c];
      }
    }
    while (columns(lines[i]) < kPictureColumns) lines[i] += ' ';
  }
  return lines;
}

}  // namespace creature
