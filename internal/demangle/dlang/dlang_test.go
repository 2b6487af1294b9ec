package dlang

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestNamesAreWrittenInThreeForms reads testdata/names.txt: symbols, and below each its name with parameters as GNU c++filt
// --format=dlang writes it, without parameters, and also without arguments.
func TestNamesAreWrittenInThreeForms(t *testing.T) {
	text, err := os.ReadFile("testdata/names.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for ; len(lines) >= 4; lines = lines[4:] {
		for i, options := range []Options{{Parameters: true, Arguments: true}, {Arguments: true}, {}} {
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

// TestNamesBeyondCxxfilt has names that GNU c++filt 2.40 leaves as they are, or of which it writes no parameters.
func TestNamesBeyondCxxfilt(t *testing.T) {
	for symbol, want := range map[string]string{
		"_D4test3fooFZv.cold": "test.foo() (.cold)",
		// The type of a function is a reference to an earlier one.
		"_D3std11concurrency14FiberScheduler6createMFNbDFZvZ4wrapMQk": "std.concurrency.FiberScheduler.create(void() delegate).wrap()",
		"_D3std3xml__T3optS_DQsQq10checkSpaceFNaNfKAyaZvZQBjQp": "std.xml.opt!(std.xml.checkSpace(ref immutable(char)[]))." +
			"opt(ref immutable(char)[])",
		"_D3std3xml__T6toTypeTxCQvQt4ItemZQuFNaNfNkMNgC6ObjectZNgxCQCeQCdQBl": "std.xml.toType!(const(std.xml.Item))." +
			"toType(return scope inout(Object))",
		"_DTi16_D3gcc9backtrace12LibBacktrace8toStringMxFZAya": "non-virtual thunk to gcc.backtrace.LibBacktrace.toString() const",
	} {
		if got, _ := Demangle(symbol, Options{Parameters: true, Arguments: true}); got != want {
			t.Errorf("%s:\n got %s\nwant %s", symbol, got, want)
		}
	}
}

func TestNamesOfOtherLanguagesAreRefused(t *testing.T) {
	for _, symbol := range []string{
		"", "_", "_D", "_Dtest", "_D_x", "_D4test", "_D4test3foo", "_D4test3fooF", "_D4test3fooFi", "_D4test3fooFZ", "_D4test3fooFZvv",
		"_D99999999999999999999a", "_D4testQ", "_D4testQa", "_D4testQzZ", "_D4test__T", "_D4test__T3foo", "_D4test__T3fooVi", "_DTi",
		"_D__ToB", "_D0Z", "_DTi1_D", "_D4test3fooFG", "_D4test3fooFB9Zv", "_DYNAMIC", "_DT_INIT", "_D4testCQc", "D4test3fooFZv",
		"_D4test3fooFAQbZv",
	} {
		for _, options := range []Options{{Parameters: true, Arguments: true}, {}} {
			if got, ok := Demangle(symbol, options); ok {
				t.Errorf("%s: got %q", symbol, got)
			}
		}
	}
}

// expanding are symbols that would take long to demangle or to write, or much of the stack, if nothing were bounded.
func expanding() map[string]string {
	var doubling strings.Builder
	doubling.WriteString("_D1a1bFAi") // each parameter is a table from the one before it to the same
	last := doubling.Len() - 2
	for range 60 {
		at := doubling.Len()
		doubling.WriteString("H" + backReference(at+1-last))
		doubling.WriteString(backReference(doubling.Len() - last))
		last = at
	}
	return map[string]string{
		"doubling":  doubling.String() + "Zv",
		"pointers":  "_D1a1bF" + strings.Repeat("P", 16000) + "iZv",
		"names":     "_D" + strings.Repeat("1a", 8000) + "Z",
		"functions": "_D" + strings.Repeat("1aF", 5000) + "Z",
		"nested":    "_D" + strings.Repeat("1aMFS", 3000) + "1aZv",
		"templates": "_D" + strings.Repeat("__T1aT", 2600) + "i" + strings.Repeat("Z", 2600) + "i",
		"symbols":   "_D1a__T1b" + strings.Repeat("S", 8000) + "1aZi",
		"digits":    "_D1a__T1bS" + strings.Repeat("1", 8000) + "aZi",
		"lists":     "_D1a__T1bVAi" + strings.Repeat("A9", 8000) + "Zi",
		"tuples":    "_D1a1bF" + strings.Repeat("B9", 8000) + "Zv",
		"empty":     "_D1a1bFB1073741824" + strings.Repeat("B0", 100) + "Zv",
		"self":      "_D1a1bFAQbZv",
		"ctors":     "_D" + strings.Repeat("6__initZ", 2000),
	}
}

func backReference(distance int) string {
	if distance < 26 {
		return "Q" + string(rune('a'+distance))
	}
	return "Q" + string(rune('A'+distance/26)) + string(rune('a'+distance%26))
}

func TestDemanglingIsBounded(t *testing.T) {
	for name, symbol := range expanding() {
		for _, options := range []Options{{Parameters: true, Arguments: true}, {Arguments: true}, {}} {
			if got, _ := Demangle(symbol, options); len(got) > maxBytes {
				t.Errorf("%s: got %d bytes", name, len(got))
			}
		}
	}
	if got, ok := Demangle(expanding()["doubling"], Options{Parameters: true}); ok {
		t.Errorf("got %d bytes for a name of 2^60", len(got))
	}
}

func FuzzDemangle(f *testing.F) {
	text, err := os.ReadFile("testdata/names.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "_D") {
			f.Add(strings.TrimSpace(line))
		}
	}
	for _, symbol := range expanding() {
		f.Add(symbol)
	}
	f.Fuzz(func(t *testing.T, symbol string) {
		for _, options := range []Options{{Parameters: true, Arguments: true}, {Arguments: true}, {}} {
			got, ok := Demangle(symbol, options)
			if len(got) > maxBytes+len(symbol) || ok == (got == "") {
				t.Fatalf("got %d bytes, %t", len(got), ok)
			}
		}
	})
}

func BenchmarkDemangle(b *testing.B) {
	for _, symbol := range []string{"_D4test3fooFZv", "_D3std5array__T8AppenderTAyaZQo__T3putTwZQiMFNaNbNfwZv"} {
		b.Run(fmt.Sprintf("%d", len(symbol)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Demangle(symbol, Options{Arguments: true})
			}
		})
	}
}
