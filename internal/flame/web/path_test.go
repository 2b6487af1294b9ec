package web

import (
	"slices"
	"testing"
)

func TestNamesAreShortenedAtTheFrontOfTheirPath(t *testing.T) {
	for name, want := range map[string][]string{
		"do_syscall_64":                   nil,
		"a::b<c::d>::e":                   {"…b<c::d>::e", "…e"},
		"std::operator<< <a::b>":          {"…operator<< <a::b>"},
		"(anonymous namespace)::C::run":   {"…C::run", "…run"},
		"a::f(b::c, d::e)":                {"…f(b::c, d::e)"},
		"<a::V as b::T>::get":             {"…get"},
		"wprof/format.(*Reader).Next":     {"…format.(*Reader).Next", "…(*Reader).Next", "…Next"},
		"main.main.func1.2":               {"…main.func1.2", "…func1.2"},
		"java.util.HashMap.get":           {"…util.HashMap.get", "…HashMap.get", "…get"},
		"tcp_ack.isra.0":                  nil,
		"f.cold":                          nil,
		"a.part.3 (a.c:12)":               nil,
		"a::f (lex.h:3)":                  {"…f (lex.h:3)"},
		"JS:*handle /srv/app/main.js:3:1": {"JS:*handle …srv/app/main.js:3:1", "JS:*handle …app/main.js:3:1", "JS:*handle …main.js:3:1"},
		"A.f /b/c.py:1":                   {"…f /b/c.py:1", "…f …b/c.py:1", "…f …c.py:1"},
		"[libc.so.6]":                     nil,
		"":                                nil,
		"::":                              nil,
		"a/":                              nil,
		">>a::b":                          {"…b"},
	} {
		if got := Shorter(name); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
