package swift

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestNamesAreWrittenInThreeForms reads testdata/names.txt: symbols, and below each its complete name as swift-demangle writes it,
// the name without types, and also without arguments.
func TestNamesAreWrittenInThreeForms(t *testing.T) {
	text, err := os.ReadFile("testdata/names.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for ; len(lines) >= 4; lines = lines[4:] {
		for i, options := range []Options{{Types: true, Arguments: true}, {Arguments: true}, {}} {
			want := strings.TrimPrefix(lines[i+1], "\t")
			if got, _ := Demangle(lines[0], options); got != want {
				t.Errorf("%s with %+v:\n got %s\nwant %s", lines[0], options, got, want)
			}
		}
	}
	if len(lines) != 0 {
		t.Errorf("the last name has %d lines", len(lines))
	}
}

// TestPartsOfAnAsyncFunctionAreDistinguished has the names of what a compiler splits one async function into.
func TestPartsOfAnAsyncFunctionAreDistinguished(t *testing.T) {
	for symbol, want := range map[string]string{
		"$s4main3runyyYaF":                    "main.run",
		"$s4main3runyyYaFTY0_":                "(1) suspend resume partial function for main.run",
		"$s4main3runyyYaFTQ1_":                "(2) await resume partial function for main.run",
		"$s4main3runyyYaFTu":                  "async function pointer to main.run",
		"$s4main3runyyYaFyyYacfU_TY0_":        "(1) suspend resume partial function for closure #1 in main.run",
		"$s4main3runyyYaFTY0_.resume.0":       "(1) suspend resume partial function for main.run",
		"$s4main3fooyyxlFSS_Tg5TA":            "partial apply forwarder for generic specialization <Swift.String> of main.foo",
		"$s4main3fooyyxlFSi_Tg5Tf4n_nTf4nd_n": "function signature specialization of function signature specialization of generic specialization <Swift.Int> of main.foo",
	} {
		if got, _ := Demangle(symbol, Options{Arguments: true}); got != want {
			t.Errorf("%s:\n got %s\nwant %s", symbol, got, want)
		}
	}
	const symbol, want = "$s4main3runyyYaFTY0_.resume.0",
		`(1) suspend resume partial function for main.run() async -> () with unmangled suffix ".resume.0"`
	if got, _ := Demangle(symbol, Options{Types: true, Arguments: true}); got != want {
		t.Errorf("%s:\n got %s\nwant %s", symbol, got, want)
	}
}

// TestWhatCannotBeWrittenCompletelyHasNoTypes has names of which swift-demangle writes closures and constants that are passed.
func TestWhatCannotBeWrittenCompletelyHasNoTypes(t *testing.T) {
	for symbol, want := range map[string]string{
		"_$S3foo6testityyyyc_yyctF1a1bTf3pfpf_n":                                         "function signature specialization of foo.testit",
		"_$S4main5inneryys5Int32Vz_yADctF25closure_with_box_argumentxz_Bi32__lXXTf1nc_n": "function signature specialization of main.inner",
	} {
		if got, _ := Demangle(symbol, Options{Types: true, Arguments: true}); got != want {
			t.Errorf("%s:\n got %s\nwant %s", symbol, got, want)
		}
	}
}

func TestNamesOfOtherLanguagesAreRefused(t *testing.T) {
	for _, symbol := range []string{
		"", "$", "$s", "$S", "_$s", "_T0", "$sort", "$stack", "$st", "$sSi", "$s4main1SV", "$ss", "$sy", "$s4main", "$s4main3foo", "$s4main3fooyy",
		"$s4main3fooyyFZZZ_", "$s4main3fooyyFTY", "$s4main3fooyyFTf", "$s4main3fooyyFTf4", "$s99999999999999999999a", "$s0", "$s00",
		"$s4main3fooyyFA", "$sA_", "$sA9999999999_", "$s4main3fooyyFA99999A", "$x", "$d", "$a", "$t", "$s.text", "_T0x", "_TFC4main3foo",
		"_T", "$syQo", "_T0A8", "_T0iW", "_T0D", "_T0XZ", "$s4main3fooyySi\x01abcdF",
		"$s0059xxxxxxxxxxxxxxx_ttttttttBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBee", "_$S3BBBBf0602365061_",
		"$s4main1SVMaZ", "$s4main1SVMaTj", "$s4main1SVWVTq", "$s4main3fooyyFTAZ",
	} {
		for _, options := range []Options{{Types: true, Arguments: true}, {}} {
			if got, ok := Demangle(symbol, options); ok {
				t.Errorf("%s: got %q", symbol, got)
			}
		}
	}
}

// expanding are symbols that would take long to demangle or to write, or much of the stack, if nothing were bounded.
func expanding() map[string]string {
	var doubling strings.Builder
	doubling.WriteString("$s4main3fooyySDySiSiG_") // each type is a dictionary from the one before it to the same
	for i := range 60 {
		ref := fmt.Sprintf("A%s", string(rune('C'+i)))
		if i > 23 {
			ref = fmt.Sprintf("A%d_", i-25)
		}
		if i == 24 {
			ref = "A_"
		}
		doubling.WriteString("SDy" + ref + ref + "G")
	}
	return map[string]string{
		"doubling":    doubling.String() + "tF",
		"optionals":   "$s4main3fooyySi" + strings.Repeat("Sg", 8000) + "F",
		"closures":    "$s4main3fooyyF" + strings.Repeat("yycfU_", 2600),
		"thunks":      "$s4main3fooyyF" + strings.Repeat("TA", 8000),
		"classes":     "$s4main" + strings.Repeat("1aC", 5000) + "Ma",
		"extensions":  "$s4main1aV" + strings.Repeat("AAE", 5000) + "Ma",
		"bound":       "$s4main" + strings.Repeat("1aV", 2000) + "y" + strings.Repeat("Si_", 4000) + "GMa",
		"bound again": "$s4main" + strings.Repeat("1aV", 500) + strings.Repeat("ySi_G", 2000) + "Ma",
		"repeated":    "$s4main3fooyy" + strings.Repeat("A4096a", 2000) + "F",
		"repeated2":   "$s4main3fooyy" + strings.Repeat("S4095i", 2000) + "tF",
		"words":       "$s4Main0" + strings.Repeat("a", 15000) + "A1xyyF",
		"words again": "$s8000" + strings.Repeat("ab", 4000) + strings.Repeat("0aaaaaaA0", 800) + "yyF",
		"punycode":    "$s4main00" + "8000" + strings.Repeat("a", 8000) + "yyF",
		"generics":    "$s4main3fooyy" + "r" + strings.Repeat("16000000_", 1500) + "lF",
		"depths":      "$s4main3fooyy" + "r" + strings.Repeat("z", 15000) + "lF",
		"members":     "$s4main3fooyyx" + strings.Repeat("1aQa", 4000) + "F",
		"functions":   "$s4main3fooyy" + strings.Repeat("yyc", 5000) + "F",
		"marks":       "$s" + strings.Repeat("y_", 8000),
	}
}

func TestDemanglingIsBounded(t *testing.T) {
	for name, symbol := range expanding() {
		for _, options := range []Options{{Types: true, Arguments: true}, {Arguments: true}, {}} {
			if got, _ := Demangle(symbol, options); len(got) > maxBytes {
				t.Errorf("%s: got %d bytes", name, len(got))
			}
		}
	}
	if got, ok := Demangle(expanding()["doubling"], Options{Types: true, Arguments: true}); ok {
		t.Errorf("got %d bytes for a name of 2^60", len(got))
	}
	if got, _ := Demangle(expanding()["doubling"], Options{}); got != "main.foo" {
		t.Errorf("got %q, want main.foo", got)
	}
}

func TestPunycode(t *testing.T) {
	for encoded, want := range map[string]string{
		"vergenza_JFa": "vergüenza", "p_qcaDc": "«p»", "egbpdajGbuEbxfgehfvwxn": "ليهمابتكلموشعربي؟",
	} {
		if got, ok := punycode(encoded); got != want || !ok {
			t.Errorf("%s: got %q, want %q", encoded, got, want)
		}
	}
	for _, encoded := range []string{"-", "a_-", "99999", "JJJJJJJJJ", "a_b_", "zzzzzzzz"} {
		if got, ok := punycode(encoded); ok && got == "" {
			t.Errorf("%s: got %q", encoded, got)
		}
	}
}

func FuzzDemangle(f *testing.F) {
	text, err := os.ReadFile("testdata/names.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "\t") {
			f.Add(strings.TrimSpace(line))
		}
	}
	for _, symbol := range expanding() {
		f.Add(symbol)
	}
	f.Fuzz(func(t *testing.T, symbol string) {
		for _, options := range []Options{{Types: true, Arguments: true}, {Arguments: true}, {}} {
			got, ok := Demangle(symbol, options)
			if len(got) > maxBytes+len(symbol)+100 || ok == (got == "") {
				t.Fatalf("got %d bytes, %t", len(got), ok)
			}
		}
	})
}

func BenchmarkDemangle(b *testing.B) {
	for _, symbol := range []string{
		"$s4main5ShapeV4areaSdvg",
		"$sSo17OS_dispatch_queueC8DispatchE5async5group3qos5flags7executeySo0a1_b1_F0CSg_AC0D3QoSVAC0D13WorkItemFlagsVyyXBtF",
	} {
		b.Run(fmt.Sprintf("%d", len(symbol)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Demangle(symbol, Options{Arguments: true})
			}
		})
	}
}
