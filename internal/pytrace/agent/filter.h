/* SPDX-License-Identifier: Apache-2.0 */
/* Which code is recorded, by globs on its module, which is that of internal/python: TestModulesInTheAgent compares both. */
#ifndef WPROF_PYTRACE_FILTER_H
#define WPROF_PYTRACE_FILTER_H

/* Characters of a str: those from one on and before another. */
struct part {
	const u8 *characters;
	u32 kind; /* bytes of each */
	u32 from, to;
	u8 has_slashes; /* which stand for dots */
};

static u32 character(const struct part *p, u32 i)
{
	switch (p->kind) {
	case 1:
		return p->characters[i];
	case 2:
		return ((const u16 *)p->characters)[i];
	}
	return ((const u32 *)p->characters)[i];
}

static u32 length(const char *text)
{
	u32 n = 0;

	while (text[n])
		n++;
	return n;
}

/* Whether a text stands at a place. */
static int stands(const struct part *p, u32 at, const char *text)
{
	for (; *text; text++, at++) {
		if (at >= p->to || character(p, at) != (u8)*text)
			return 0;
	}
	return 1;
}

static int ends_with(const struct part *p, const char *text)
{
	u32 n = length(text);

	return p->to - p->from >= n && stands(p, p->to - n, text);
}

static void cut_end(struct part *p, const char *text)
{
	if (ends_with(p, text))
		p->to -= length(text);
}

/* Where a text stands last; -1: nowhere. */
static long last_of(const struct part *p, const char *text)
{
	for (long i = (long)p->to - 1; i >= (long)p->from; i--) {
		if (stands(p, i, text))
			return i;
	}
	return -1;
}

/* The module's part of a path without its .py. */
static void cut_folders(struct part *p)
{
	struct part folder = *p;
	long at = last_of(p, "/site-packages/");

	if (at < 0)
		at = last_of(p, "/dist-packages/");
	if (at >= 0) {
		p->from = at + length("/site-packages/");
		return;
	}
	at = last_of(p, "/lib/python3");
	if (at >= 0) {
		at += length("/lib/");
		while (at < (long)p->to && character(p, at) != '/')
			at++;
		p->from = at < (long)p->to ? at + 1 : at;
		return;
	}
	cut_end(&folder, "/__init__");
	at = last_of(&folder, "/");
	if (at >= 0)
		p->from = at + 1;
}

/* Cuts a file's name to its module. */
static void cut_to_module(struct part *p)
{
	if (stands(p, p->from, "<frozen ")) {
		p->from += length("<frozen ");
		cut_end(p, ">");
		return;
	}
	if (!ends_with(p, ".py")) {
		p->to = p->from;
		return;
	}
	cut_end(p, ".py");
	cut_folders(p);
	cut_end(p, "/__init__");
	p->has_slashes = 1;
}

static u32 module_character(const struct part *p, u32 i)
{
	u32 c = character(p, i);

	return p->has_slashes && c == '/' ? '.' : c;
}

static int matches(const u32 *glob, const struct part *p)
{
	u32 i = 0, at = p->from, mark = 0;
	long star = -1; /* the last *, and how much it has taken */

	while (at < p->to) {
		u32 c = module_character(p, at);

		if (glob[i] == '*') {
			star = i++;
			mark = at;
		} else if (glob[i] && (glob[i] == '?' || glob[i] == c)) {
			i++;
			at++;
		} else if (star >= 0) {
			i = star + 1;
			at = ++mark;
		} else {
			return 0;
		}
	}
	while (glob[i] == '*')
		i++;
	return !glob[i];
}

/* Whether a module is wanted: one of the globs has it, if there are any, and none of those with ! does. A zero ends each, and another one all. */
static int is_wanted(const u32 *globs, const struct part *module)
{
	int has_some = 0, has_match = 0;

	while (*globs) {
		int is_not = *globs == '!', is = matches(globs + is_not, module);

		if (is_not && is)
			return 0;
		has_some |= !is_not;
		has_match |= !is_not && is;
		while (*globs++)
			;
	}
	return has_match || !has_some;
}

#endif
