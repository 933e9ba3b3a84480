/* The creature from C: the same brain as in the terminal program, in a library of its own (libcreature). A brain file
   that one of them wrote goes on living in the other, with equal hashes.

     creature_t* pet = creature_hatch(7);
     creature_teach(pet, "come here", "come");
     creature_hear(pet, "come here", &deed);     deed.behaviour is "come"
     creature_save(pet, "pet.entity");
     creature_free(pet);

   Functions return 1, or a pointer, if they succeed, and 0 or NULL if they fail; creature_last_error() is then the
   reason, for the calling thread. A creature is used by one thread at a time. Texts are UTF-8. */
#ifndef CREATURE_C_H
#define CREATURE_C_H

#include <stdint.h>

#if defined(_WIN32) && defined(CREATURE_BUILDS_THE_LIBRARY)
#define CREATURE_API __declspec(dllexport)
#elif defined(_WIN32)
#define CREATURE_API
#else
#define CREATURE_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct creature_handle creature_t;

/* A deed is how the creature takes one thing that was said or done. Texts last as long as the library. */
typedef struct creature_deed {
  const char* behaviour; /* "sit", "come", ...: the deed */
  const char* wish;      /* the deed that its brain chose; its mood may have overruled it */
  int32_t sureness;      /* of the wish, in thousandths */
  int32_t expectation;   /* -1000: a poke will follow, 1000: a treat */
  int32_t has_learned;   /* 1 if it learned from this: a touch after words, or a dream */
} creature_deed;

/* Hatches a creature with its instincts. Equal seeds hatch equal brains. */
CREATURE_API creature_t* creature_hatch(uint32_t seed);
/* Reads a brain file. */
CREATURE_API creature_t* creature_load(const char* path);
/* Writes a brain file, whole or not at all. */
CREATURE_API int creature_save(const creature_t* creature, const char* path);
/* Releases a creature; NULL is allowed. */
CREATURE_API void creature_free(creature_t* creature);

/* Says words to it. Empty words are silence, in which it does what it is in the mood for. (deed: may be
   NULL) */
CREATURE_API int creature_hear(creature_t* creature, const char* words, creature_deed* deed);
/* Touches it: "pet", "tickle", "poke" or "feed". (deed: may be NULL) */
CREATURE_API int creature_feel(creature_t* creature, const char* touch, creature_deed* deed);
/* Teaches it to answer words, or a touch by its name, with a behaviour. */
CREATURE_API int creature_teach(creature_t* creature, const char* words, const char* behaviour);
/* Praises (1) or scolds (0) what it did last. */
CREATURE_API int creature_react(creature_t* creature, int is_good);

/* SHA-256 of its brain, 64 hexadecimal digits; lasts until the next call of this function with the creature. */
CREATURE_API const char* creature_hash(creature_t* creature);
/* Its name; lasts as long as the creature. */
CREATURE_API const char* creature_name(const creature_t* creature);
/* The reason of the last failure on this thread, one line. */
CREATURE_API const char* creature_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
