/* A life from C: creature_first_day SCRIPT [FILE] hatches seed 7 and lives through the lines of a script, as the terminal
   program does: "WORDS -> BEHAVIOUR" teaches, a touch is felt, other lines are said; "#" begins a comment and "/" a command
   of the terminal, which is left out. It prints the hash of the brain. With FILE it saves the brain, loads it again, and
   prints the hash of that one too. */
#include "creature_c.h"

#include <stdio.h>
#include <string.h>

static int failed(const char* what) {
  fprintf(stderr, "creature_first_day: %s: %s\n", what, creature_last_error());
  return 1;
}

/* Lives through one line. Returns 1 if that succeeds. */
static int live(creature_t* pet, char* line) {
  static const char* const touches[] = {"pet", "tickle", "poke", "feed"};
  char* const arrow = strstr(line, " -> ");
  creature_deed deed;
  size_t i;
  int is_touch = 0;
  if (arrow != NULL) {
    *arrow = '\0';
    return creature_teach(pet, line, arrow + 4);
  }
  for (i = 0; i < sizeof touches / sizeof *touches; ++i) is_touch |= strcmp(line, touches[i]) == 0;
  if (!(is_touch ? creature_feel(pet, line, &deed) : creature_hear(pet, line, &deed))) return 0;
  printf("%s: %s: %s, %d of 1000 sure\n", creature_name(pet), line, deed.behaviour, (int)deed.sureness);
  return 1;
}

int main(int count, char** arguments) {
  char line[256];
  FILE* script = count > 1 ? fopen(arguments[1], "r") : NULL;
  creature_t* pet;
  creature_t* again;
  int lives = 1;
  if (script == NULL) {
    fprintf(stderr, "usage: creature_first_day SCRIPT [FILE], with a script that can be read\n");
    return 2;
  }
  pet = creature_hatch(7);
  if (pet == NULL) return fclose(script), failed("hatch");
  while (lives && fgets(line, sizeof line, script) != NULL) {
    line[strcspn(line, "\r\n")] = '\0';
    if (line[0] != '\0' && line[0] != '#' && line[0] != '/') lives = live(pet, line);
  }
  fclose(script);
  if (!lives) return failed(line);
  printf("brain %s\n", creature_hash(pet));
  if (count > 2) {
    if (!creature_save(pet, arguments[2])) return failed("save");
    again = creature_load(arguments[2]);
    if (again == NULL) return failed("load");
    printf("brain %s\n", creature_hash(again));
    creature_free(again);
  }
  creature_free(pet);
  return 0;
}
