package python

import (
	"encoding/hex"
	"encoding/json"
	"os/exec"
	"testing"

	"wprof/test/tools"
)

// described is a code object as testdata/lines.py prints it.
type described struct {
	Name  string
	Table string
	First uint32
	Lines []int64 // of each instruction unit; 0: none
}

// The line of each instruction of some of Python's own modules is the one that Python itself gives it.
func TestLinesAreThoseOfPython(t *testing.T) {
	for _, python := range tools.Pythons(t) {
		out, err := exec.Command(python, "testdata/lines.py").Output()
		if err != nil {
			t.Fatalf("%s: %v", python, err)
		}
		var all struct {
			Minor int
			Codes []described
		}
		if err := json.Unmarshal(out, &all); err != nil {
			t.Fatal(err)
		}
		compared := 0
		for _, code := range all.Codes {
			table, err := hex.DecodeString(code.Table)
			if err != nil {
				t.Fatal(err)
			}
			for unit, want := range code.Lines {
				compared++
				if got := LineOf(all.Minor, table, code.First, int64(unit)); int64(got) != want {
					t.Fatalf("%s: %s, instruction %d: got line %d, want %d", python, code.Name, unit, got, want)
				}
			}
			if got := LineOf(all.Minor, table, code.First, -1); got != code.First {
				t.Fatalf("%s: %s before the first instruction: got line %d, want %d", python, code.Name, got, code.First)
			}
		}
		if compared < 3000 {
			t.Errorf("%s: only %d instructions were compared", python, compared)
		}
	}
}

func TestTextHasAllKindsOfCharacters(t *testing.T) {
	for want, c := range map[string]struct {
		bytes string
		kind  int
		ascii bool
	}{
		"main": {"main", 1, true}, "é": {"\xe9", 1, false}, "ф": {"\x44\x04", 2, false}, "😀": {"\x00\xf6\x01\x00", 4, false},
		"a": {"a\x00b", 2, false}, // cut within a character
		"":  {"abc", 3, false},    // no kind
	} {
		if got := Text([]byte(c.bytes), c.kind, c.ascii); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestFunctionsHaveTheModuleOfTheirFile(t *testing.T) {
	for file, want := range map[string]string{
		"/usr/lib/python3.11/json/decoder.py":                      "json.decoder.f",
		"/usr/lib/python3.11/json/__init__.py":                     "json.f",
		"/opt/v/lib/python3.13/site-packages/numpy/linalg/_lin.py": "numpy.linalg._lin.f",
		"/usr/lib/python3/dist-packages/apt/__init__.py":           "apt.f",
		"/srv/app/main.py":                                         "main.f",
		"/srv/app/__init__.py":                                     "app.f",
		"<frozen importlib._bootstrap>":                            "importlib._bootstrap.f",
		"<string>":                                                 "f",
		"":                                                         "f",
		"/srv/script":                                              "f",
	} {
		if got := FunctionName(file, "f"); got != want {
			t.Errorf("%s: got %s, want %s", file, got, want)
		}
	}
}

func FuzzLineOf(f *testing.F) {
	f.Add(11, []byte{0x80, 0x00, 0xf0, 0x7f, 0x7f}, uint32(1), int64(3))
	f.Add(10, []byte{2, 1, 4, 0x80}, uint32(7), int64(2))
	f.Add(9, []byte{2, 1, 4, 0xff}, uint32(7), int64(9))
	f.Fuzz(func(t *testing.T, minor int, table []byte, first uint32, units int64) {
		if line := LineOf(minor, table, first, units); line > maxLine && units >= 0 {
			t.Errorf("line %d", line)
		}
	})
}
