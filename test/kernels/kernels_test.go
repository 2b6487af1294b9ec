package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// skipReasons are what the calls of Skip and Skipf in a folder's Go files would say, with … for what is put in.
func skipReasons(t *testing.T, folder string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", folder, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no Go files: %v", folder, err)
	}
	reasons := map[string]string{}
	positions := token.NewFileSet()
	for _, name := range files {
		file, err := parser.ParseFile(positions, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || method.Sel.Name != "Skip" && method.Sel.Name != "Skipf" {
				return true
			}
			literal, ok := call.Args[0].(*ast.BasicLit)
			if !ok {
				return true // the reason is chosen elsewhere, and checked when it is printed
			}
			format, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			where := positions.Position(call.Pos()).String()
			reasons[regexp.MustCompile(`%[a-z]`).ReplaceAllString(format, "…")] = where
			return true
		})
	}
	return reasons
}

func TestReasonsToSkipAreListedInTheDocumentation(t *testing.T) {
	listed := listedSkips(read(t, pageFile))
	if len(listed) < 5 {
		t.Fatalf("the page lists %d reasons", len(listed))
	}
	folders := []string{"test/tools", "test/engine"}
	for _, p := range parsePackages(read(t, packagesFile)) {
		folders = append(folders, p.path)
	}
	for _, folder := range folders {
		for reason, where := range skipReasons(t, folder) {
			if !isListed(reason, listed) {
				t.Errorf("%s skips for a reason that %s does not list: %q", where, pageFile, reason)
			}
		}
	}
}

func TestPackagesToRunOnOtherKernelsAreThere(t *testing.T) {
	packages := parsePackages(read(t, packagesFile))
	if !slices.ContainsFunc(packages, func(p pkg) bool { return p.path == "./bpf" }) {
		t.Errorf("./bpf is not among %v", packages)
	}
	for _, p := range packages {
		if tests, _ := filepath.Glob(filepath.Join("../..", p.path, "*_test.go")); len(tests) == 0 {
			t.Errorf("%s has no tests", p.path)
		}
		for _, s := range p.skips {
			if s.why == "" || strings.HasSuffix(s.why, "they ") {
				t.Errorf("%s: no reason is given for leaving out those %s", p.path, s.tests)
			}
		}
	}
}

const said = `=== RUN   TestGood
--- PASS: TestGood (0.00s)
=== RUN   TestSkips
    a_test.go:12: this kernel has no such thing
--- SKIP: TestSkips (0.00s)
=== RUN   TestRefused
    b_test.go:9: refused: no | way | a sentence
--- PASS: TestRefused (0.00s)
=== RUN   TestBad
    a_test.go:20: broken
--- FAIL: TestBad (0.00s)
FAIL
`

func TestOutputOfTestsIsCounted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bpf.txt")
	if err := os.WriteFile(file, []byte(said), 0o600); err != nil {
		t.Fatal(err)
	}
	got, refused, err := readTests(file)
	if err != nil {
		t.Fatal(err)
	}
	if got.name != "bpf" || got.passed != 2 || got.failed != 1 || !got.ended || got.failures[0] != "TestBad" ||
		len(got.skips) != 1 || got.skips[0] != (skip{"TestSkips", "this kernel has no such thing"}) {
		t.Errorf("got %+v", got)
	}
	if len(refused) != 1 || refused[0] != (refusal{"no", "way | a sentence"}) {
		t.Errorf("refused %+v", refused)
	}
	results := []result{{kernel: "6.1", boot: "full", tests: []tested{got}}}
	err = check(results, listedSkips("## What a test may skip for\n| `this kernel has …` | never |\n"))
	if err == nil || !strings.Contains(err.Error(), "TestBad") || strings.Contains(err.Error(), "TestSkips") {
		t.Errorf("the check returns %v, want TestBad alone", err)
	}
	if err := check(results, nil); !strings.Contains(err.Error(), "TestSkips") {
		t.Errorf("the check returns %v, want that TestSkips has no listed reason", err)
	}
}

func TestOnlyWhatStandsBetweenTheMarksIsWritten(t *testing.T) {
	page := "before\n" + beginMark + "old\n" + endMark + "after\n"
	got, err := replaceWritten(page, "new\n")
	if want := "before\n" + beginMark + "\nnew\n\n" + endMark + "after\n"; err != nil || got != want {
		t.Errorf("%v, %q, want %q", err, got, want)
	}
	if _, err := replaceWritten("no marks", "new"); err == nil {
		t.Error("a page without marks is taken")
	}
}
