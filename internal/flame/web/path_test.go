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

func TestPlacesAreWhole(t *testing.T) {
	for name, place := range map[string]string{
		"main (svc.cpp:78)": " (svc.cpp:78)",
		"handle(int)::<lambda(const std::string&)> (svc.cpp:22)": " (svc.cpp:22)",
		"operator< (a b.h:3)": " (a b.h:3)",
		"f (C:x.c:3)":         " (C:x.c:3)",
		"f (a:1) (b.c:2)":     " (b.c:2)",
		"f (int)":             "",
		"f (a.c:)":            "",
		"f (a.c:1":            "",
		"f (a.c:1x)":          "",
		"f (:1)":              "",
		"f(a.c:1)":            "",
		" (a.c:1)":            "",
		"A.f /b/c.py:1":       "",
		"":                    "",
	} {
		function, got := CutPlace(name)
		if got != place || function+got != name {
			t.Errorf("%q: %q and %q, want %q", name, function, got, place)
		}
	}
}
