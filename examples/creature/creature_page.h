#pragma once
// The creature on a page (web/app/creature.js): one life in a WebAssembly module of its own. It answers a line as the
// terminal program does, in the same texts and pictures without colours, and its brain file is the same.
//
// Texts are UTF-8 and last until the next call. A function that fails returns null or 0; creature_page_error() is then
// the reason.

#include <cstdint>

extern "C" {
// Hatches a creature and returns its first picture.
const char* creature_page_hatch(std::uint32_t seed);
// Reads a brain file and returns how the creature greets; on failure the one before lives on.
const char* creature_page_wake(const char* path);
// Lives through a line, as "come here" or "poke -> dance", and returns what is to be seen.
const char* creature_page_line(const char* line);
// Writes the brain file, whole or not at all.
int creature_page_keep(const char* path);
// SHA-256 of its brain, 64 hexadecimal digits; its name. Empty before it has hatched.
const char* creature_page_hash();
const char* creature_page_name();
const char* creature_page_error();
}
