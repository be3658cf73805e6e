// What both programs have of gups and stencil: the same as bench/kernel has.

#include <stdint.h>
#include <stdlib.h>

enum { TABLEWORDS = 1 << 16, LOOKAHEAD = 1024, ROWS = 16, COLS = 512, GRID = (ROWS + 2) * COLS };

// next_random returns the random number after a (Marsaglia's xorshift).
static inline uint64_t next_random(uint64_t a) {
	a ^= a << 13;
	a ^= a >> 7;
	return a ^ a << 17;
}

// owner returns which of n ranks has the word of a random number, at a % TABLEWORDS.
static inline int owner(uint64_t a, int n) { return a / TABLEWORDS % n; }

// fill_grid sets the first temperatures of a rank's rows, and of those beside them.
static inline void fill_grid(double *grid, int rank, int ranks) {
	for (int i = -1; i <= ROWS; i++)
		for (int j = 0; j < COLS; j++) {
			int row = rank * ROWS + i;
			grid[(i + 1) * COLS + j] = row < 0 || row >= ranks * ROWS ? 50 : (row * 31 + j * 17) % 100;
		}
}

// relax computes row i of the next step. Left and right of the grid it is 0.
static inline void relax(double *restrict next_grid, const double *restrict grid, int i) {
	const double k = 0.2;
	double *next = next_grid + (i + 1) * COLS;
	const double *above = grid + i * COLS, *row = above + COLS, *below = row + COLS;
	next[0] = row[0] + k * (above[0] + below[0] + row[1] - 4 * row[0]);
	for (int j = 1; j < COLS - 1; j++) next[j] = row[j] + k * (above[j] + below[j] + row[j - 1] + row[j + 1] - 4 * row[j]);
	next[COLS - 1] = row[COLS - 1] + k * (above[COLS - 1] + below[COLS - 1] + row[COLS - 2] - 4 * row[COLS - 1]);
}
