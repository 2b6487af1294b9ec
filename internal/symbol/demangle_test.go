package symbol

import (
	"fmt"
	"strings"
	"testing"
)

// TestDemanglingIsBounded demangles names that expand to far more than their length, or nest deeply. Unbounded, the first alone
// would fill the memory.
func TestDemanglingIsBounded(t *testing.T) {
	var doubling strings.Builder
	doubling.WriteString("_Z1f1aIiiE")
	for i := range 60 { // each type is the template a of the one before, twice
		fmt.Fprintf(&doubling, "S_IS%s_S%s_E", base36(i), base36(i))
	}
	for name, mangled := range map[string]string{
		"doubling":  doubling.String(),
		"pointers":  "_Z1f" + strings.Repeat("P", 16000) + "i",
		"templates": "_Z1f" + strings.Repeat("1aI", 2500) + "i" + strings.Repeat("E", 2500),
		"functions": "_Z1f" + strings.Repeat("PFv", 2500) + "i" + strings.Repeat("E", 2500),
		"names":     "_ZN" + strings.Repeat("1a", 8000) + "Ev",
		"old rust":  "_ZN" + strings.Repeat("1a", 8000) + "17h0123456789abcdefE",
		"new rust":  "_R" + strings.Repeat("Nv", 8000) + "C1a",
		"backrefs":  "_RI" + "NvC1a1b" + strings.Repeat("TB1_B1_E", 1000) + "E",
		"types":     "_RINvC1a1b" + strings.Repeat("T", 8000) + "lE",
		"long":      "_Z" + strings.Repeat("x", 1<<20),
	} {
		for _, form := range []Form{DefaultForm, ShortForm, FullForm} {
			if got := Demangle(mangled, form); got != mangled && len(got) > 1<<maxDemangledPower {
				t.Errorf("%s: got %d bytes", name, len(got))
			}
		}
	}
}

func TestNamesOfSwiftAndD(t *testing.T) {
	for mangled, want := range map[string]map[Form]string{
		"$s4main5ShapeV4areaSdvg": {DefaultForm: "main.Shape.area.getter", FullForm: "main.Shape.area.getter : Swift.Double"},
		"_$s4main3runyySiFyycfU_": {DefaultForm: "closure #1 in main.run", FullForm: "closure #1 () -> () in main.run(Swift.Int) -> ()"},
		"$s4main3runyyYaFTY0_":    {DefaultForm: "(1) suspend resume partial function for main.run"},
		"$s4main3fooyyxlFSi_Tg5":  {DefaultForm: "generic specialization <Swift.Int> of main.foo"},
		"$e4main3fooyyF":          {DefaultForm: "main.foo"}, // Embedded Swift
		"_D4test__T3fooTiZQhFiZi": {DefaultForm: "test.foo!(int).foo", FullForm: "test.foo!(int).foo(int)"},
		"_Dmain":                  {DefaultForm: "D main", FullForm: "D main", ShortForm: "D main"},
		"_D4test3fooFZv.part.0":   {DefaultForm: "test.foo", FullForm: "test.foo() (.part.0)"},
	} {
		for form, want := range want {
			if got := Demangle(mangled, form); got != want {
				t.Errorf("%s, form %d: got %s, want %s", mangled, form, got, want)
			}
		}
		if got := Demangle(mangled, RawForm); got != mangled {
			t.Errorf("%s: got %s for the raw form", mangled, got)
		}
	}
}

func TestNamesOfCStayAsTheyAre(t *testing.T) {
	for _, name := range []string{
		"_D", "_Dtest", "_D_x", "_DYNAMIC", "_D1", "_D4test", "_Divide", "_Dunord", "_T0", "_T0x", "_Tlb", "_TIFFOpen", "$", "$s", "$st",
		"$sort", "$x", "$d", "$a", "_$_", "_$s", "__x64_sys_read", "_DTi", "_TFC4main3foo3barfT_T_", // Swift 3
	} {
		for _, form := range []Form{DefaultForm, ShortForm, FullForm} {
			if got := Demangle(name, form); got != name {
				t.Errorf("%s, form %d: got %s", name, form, got)
			}
		}
	}
}

func base36(n int) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if n < 36 {
		return digits[n : n+1]
	}
	return base36(n/36) + digits[n%36:n%36+1]
}

func TestShortNamesHaveNoParametersAndNoTemplateArguments(t *testing.T) {
	for mangled, want := range map[string]string{
		"_ZNSt6vectorIiSaIiEE9push_backERKi":               "std::vector::push_back",
		"_ZSt4sortIPiEvT_S1_@plt":                          "std::sort@plt",
		"_ZSt4sortIPiEvT_S1_":                              "std::sort",
		"_ZN3FooIiElsIcEEvT_":                              "Foo::operator<<",
		"_ZZN1a1bIiEEvvENKUliE_clEi":                       "a::b()::{lambda(int)#1}::operator()",
		"_Z1fIiEvT_.isra.0":                                "f",
		"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE": "core::fmt::Write::write_fmt",
		"_ZN4core3ptr85drop_in_place$LT$std..rt..lang_start$LT$$LP$$RP$$GT$..$u7b$$u7b$closure$u7d$$u7d$$GT$17h0123456789abcdefE": "core::ptr::drop_in_place",
		"_RINvNtC3std3mem8align_ofdE":                               "std::mem::align_of",
		"_RNvMs_C3fooINtB4_3BarmE3baz":                              "<foo::Bar>::baz",
		"_RNvXCs4fqI2P2rA04_7mycrateINtB2_3VecmENtB2_5Trait3fooB2_": "<mycrate::Vec as mycrate::Trait>::foo",
		"_RNCNvC6_123foo3bar0":                                      "123foo::bar::{closure#0}",
		"main.main":                                                 "main.main",
		"$s4main3fooyyxlFSi_Tg5":                                    "generic specialization of main.foo",
		"_D4test__T3fooTiZQhFNaNbNiNfiZ3barMFZi":                    "test.foo.foo.bar",
	} {
		if got := Demangle(mangled, ShortForm); got != want {
			t.Errorf("%s: got %s, want %s", mangled, got, want)
		}
	}
	for name, want := range map[string]string{
		"f::<fn() -> a::B<u8>>::g":      "f::g",
		"<&T as a::From<U>>::from::<V>": "<&T as a::From>::from",
		"<dyn Fn(u8) -> B<C>>::call":    "<dyn Fn(u8) -> B>::call",
		"a<b":                           "a<b",
		"a>b":                           "a>b",
		"":                              "",
	} {
		if got := withoutGenerics(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}
