// The environment, as the tools read it, and numbers as text.

#include "include/gasnet_tools.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

// The rank, once there is a job. A program that uses the tools alone has no such function.
extern uint32_t gasnet_mynode(void) __attribute__((weak));

char *gasnett_getenv(const char *name) { return name == NULL ? NULL : getenv(name); }

void gasnett_setenv(const char *name, const char *value) {
	if (setenv(name, value, 1) != 0) {
		gasnett_fatalerror("gasnett_setenv: %s cannot be set to \"%s\"", name, value);
	}
}

void gasnett_unsetenv(const char *name) {
	if (unsetenv(name) != 0) {
		gasnett_fatalerror("gasnett_unsetenv: \"%s\" is no name of a variable", name);
	}
}

// Reads yes or no, in any of its forms; -1 is neither.
static int yesno(const char *text) {
	static const char *const yes[] = {"1", "y", "yes"}, *const no[] = {"0", "n", "no"};
	for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
		if (strcasecmp(text, yes[i]) == 0) {
			return 1;
		}
		if (strcasecmp(text, no[i]) == 0) {
			return 0;
		}
	}
	return -1;
}

int gasnett_verboseenv(void) {
	const char *text = gasnett_getenv("GASNET_VERBOSEENV");
	return text != NULL && yesno(text) == 1 && (gasnet_mynode == NULL || gasnet_mynode() == 0);
}

void gasnett_envstr_display(const char *name, const char *value, int is_dflt) {
	if (gasnett_verboseenv()) {
		fprintf(stderr, "ENV parameter: %s = %s%s\n", name, value == NULL ? "*not set*" : value, is_dflt ? " (default)" : "");
	}
}

void gasnett_envint_display(const char *name, int64_t value, int is_dflt, int is_mem_size) {
	char buf[80];
	gasnett_envstr_display(name, gasnett_format_number(value, buf, sizeof buf, is_mem_size), is_dflt);
}

void gasnett_envdbl_display(const char *name, double value, int is_dflt) {
	char buf[80];
	snprintf(buf, sizeof buf, "%g", value);
	gasnett_envstr_display(name, buf, is_dflt);
}

const char *gasnett_getenv_withdefault(const char *name, const char *dflt) {
	const char *text = gasnett_getenv(name);
	gasnett_envstr_display(name, text == NULL ? dflt : text, text == NULL);
	return text == NULL ? dflt : text;
}

int gasnett_getenv_yesno_withdefault(const char *name, int dflt) {
	const char *text = gasnett_getenv(name);
	int value = text == NULL || *text == 0 ? dflt != 0 : yesno(text);
	if (value < 0) {
		gasnett_fatalerror("%s=%s: want yes or no", name, text);
	}
	gasnett_envstr_display(name, value ? "YES" : "NO", text == NULL || *text == 0);
	return value;
}

// Reads a unit of bytes such as MB, which ends the text; 0 if there is another end.
static uint64_t bytes_of(const char *text, uint64_t unit) {
	static const char letters[] = "KMGTPE";
	if (*text == 0) {
		return unit;
	}
	if (strcasecmp(text, "B") == 0) {
		return 1;
	}
	for (int i = 0; letters[i] != 0; i++) {
		char one[] = {letters[i], 0}, two[] = {letters[i], 'B', 0}, three[] = {letters[i], 'i', 'B', 0};
		if (strcasecmp(text, one) == 0 || strcasecmp(text, two) == 0 || strcasecmp(text, three) == 0) {
			return (uint64_t)1 << (10 * (i + 1));
		}
	}
	return 0;
}

// Reads a number, hexadecimal after 0x, and if unit is not 0 its unit. It reports whether the text is one.
static int parse(const char *text, uint64_t unit, int64_t *n) {
	while (*text == ' ' || *text == '\t') {
		text++;
	}
	int negative = *text == '-';
	text += *text == '-' || *text == '+';
	unsigned base = text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;
	const char *start = text += base == 16 ? 2 : 0;
	uint64_t value = 0;
	for (;; text++) {
		unsigned digit = *text >= '0' && *text <= '9' ? (unsigned)(*text - '0')
			: base == 16 && *text >= 'a' && *text <= 'f' ? (unsigned)(*text - 'a' + 10)
			: base == 16 && *text >= 'A' && *text <= 'F' ? (unsigned)(*text - 'A' + 10) : base;
		if (digit == base) {
			break;
		}
		if (__builtin_mul_overflow(value, base, &value) || __builtin_add_overflow(value, digit, &value)) {
			return 0;
		}
	}
	int digits = text != start;
	double part = 0; // of the number, behind its point
	if (unit != 0 && base == 10 && *text == '.') {
		double scale = 0.1;
		for (text++; *text >= '0' && *text <= '9'; text++, digits = 1, scale /= 10) {
			part += (*text - '0') * scale;
		}
	}
	uint64_t factor = unit == 0 ? *text == 0 : bytes_of(text, unit);
	if (!digits || factor == 0 || __builtin_mul_overflow(value, factor, &value)) {
		return 0;
	}
	value += (uint64_t)(part * (double)factor);
	if (value > INT64_MAX) {
		return 0;
	}
	*n = negative ? -(int64_t)value : (int64_t)value;
	return 1;
}

int64_t gasnett_parse_int(const char *text, uint64_t unit) {
	int64_t n;
	if (text == NULL || !parse(text, unit, &n)) {
		gasnett_fatalerror("\"%s\" is no %s", text == NULL ? "" : text, unit == 0 ? "integer" : "number of bytes, such as 512MB");
	}
	return n;
}

int64_t gasnett_getenv_int_withdefault(const char *name, int64_t dflt, uint64_t unit) {
	const char *text = gasnett_getenv(name);
	int is_dflt = text == NULL || *text == 0;
	int64_t n = dflt;
	if (!is_dflt && !parse(text, unit, &n)) {
		gasnett_fatalerror("%s=%s: want %s", name, text, unit == 0 ? "an integer" : "a number of bytes, such as 512MB");
	}
	gasnett_envint_display(name, n, is_dflt, unit != 0);
	return n;
}

double gasnett_getenv_dbl_withdefault(const char *name, double dflt) {
	const char *text = gasnett_getenv(name);
	int is_dflt = text == NULL || *text == 0;
	double value = dflt;
	if (!is_dflt) {
		char *end;
		value = strtod(text, &end);
		int ok = end != text;
		if (ok && *end == '/') {
			char *below = end + 1;
			double d = strtod(below, &end);
			ok = end != below && d != 0;
			value /= ok ? d : 1;
		}
		if (!ok || *end != 0) {
			gasnett_fatalerror("%s=%s: want a number, or a fraction such as 3/8", name, text);
		}
	}
	gasnett_envdbl_display(name, value, is_dflt);
	return value;
}

char *gasnett_format_number(int64_t n, char *buf, size_t size, int is_mem_size) {
	static const char *const units[] = {"B", "KB", "MB", "GB", "TB"};
	int unit = 0;
	double value = (double)n;
	if (!is_mem_size) {
		snprintf(buf, size, "%" PRId64, n);
		return buf;
	}
	while (unit < 4 && (value >= 1024 || value <= -1024)) {
		value /= 1024;
		unit++;
	}
	snprintf(buf, size, "%.6g %s", value, units[unit]);
	return buf;
}
