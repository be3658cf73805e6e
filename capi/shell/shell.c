// The library's part that is made for one thread mode. It is compiled once for each, with GASNETI_SHELL as the mode's name.

#include "gasneti/platform.h"

enum { SEQ, PARSYNC, PAR }; // as in internal.h

extern int gasneti_init(int mode, int debug, int *argc, char ***argv);

#define INIT GASNETI_JOIN(gasneti_init_, GASNETI_SHELL)
#define COMPILED_FOR GASNETI_JOIN(gasneti_this_object_was_compiled_for_GASNET_, GASNETI_SHELL)

extern const int COMPILED_FOR;
const int COMPILED_FOR = 1;

int INIT(int debug, int *argc, char ***argv);
int INIT(int debug, int *argc, char ***argv) { return gasneti_init(GASNETI_SHELL, debug, argc, argv); }

// For programs that call the library without its headers.
int gasnet_init(int *argc, char ***argv);
int gasnet_init(int *argc, char ***argv) { return INIT(0, argc, argv); }

// Launchers look for these in programs.
__attribute__((used)) static const char thread_model[] = "$GASNetThreadModel: GASNET_" GASNETI_STRING(GASNETI_SHELL) " $";
