/* The first day of docs/guide/creature.md, from C: creature_first_day [FILE] hatches seed 7, lives the day, and prints
   the hash of its brain. With FILE it saves the brain, loads it again, and prints the hash of that one too. */
#include "creature_c.h"

#include <stdio.h>

static int failed(const char* what) {
  fprintf(stderr, "%s: %s\n", what, creature_last_error());
  return 1;
}

int main(int count, char** arguments) {
  creature_t* pet = creature_hatch(7);
  creature_t* again;
  creature_deed deed;
  if (pet == NULL) return failed("hatch");
  if (!creature_hear(pet, "come here", NULL)) return failed("hear");
  if (!creature_teach(pet, "come here", "come")) return failed("teach");
  if (!creature_feel(pet, "pet", NULL)) return failed("feel");
  if (!creature_hear(pet, "oh, do come!", &deed)) return failed("hear");
  printf("%s: \"oh, do come!\": %s, %d of 1000 sure\n", creature_name(pet), deed.behaviour, (int)deed.sureness);
  if (!creature_teach(pet, "poke", "dance")) return failed("teach");
  if (!creature_feel(pet, "poke", &deed)) return failed("feel");
  printf("%s: poke: %s, %d of 1000 sure\n", creature_name(pet), deed.behaviour, (int)deed.sureness);
  printf("brain %s\n", creature_hash(pet));
  if (count > 1) {
    if (!creature_save(pet, arguments[1])) return failed("save");
    again = creature_load(arguments[1]);
    if (again == NULL) return failed("load");
    printf("brain %s\n", creature_hash(again));
    creature_free(again);
  }
  creature_free(pet);
  return 0;
}
