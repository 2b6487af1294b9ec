package capture

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"wprof/internal/assemble"
	"wprof/internal/printable"
)

const (
	// generatedFew is the least number of stacks that a process needs for advice.
	generatedFew = 5
	// generatedShare is the least share of its stacks with generated code that lack a name or their callers.
	generatedShare = 0.1
	// generatedNamed is how many processes are named.
	generatedNamed = 4
)

// codeGenerator is a program or library that generates code, and how it is made to list its functions.
type codeGenerator struct {
	files  []string // prefixes of the names of its files
	names  string   // PID stands for the process
	frames string   // what keeps its callers; "": it always has frame pointers
}

// codeGenerators begin with libraries, which other programs may have loaded.
func codeGenerators() []codeGenerator {
	return []codeGenerator{
		{[]string{"libjvm.so"}, "run jcmd PID Compiler.perfmap before the recording ends", "start it with -XX:+PreserveFramePointer"},
		{[]string{"libcoreclr.so"}, "start it with DOTNET_PerfMapEnabled=1", ""},
		{[]string{"node", "libnode.so"}, "start it with --perf-basic-prof", ""},
		{[]string{"deno"}, "start it with --v8-flags=--perf-basic-prof", ""},
		{[]string{"chrome", "chromium"}, "start it with --no-sandbox --js-flags=--perf-basic-prof", ""},
		{[]string{"beam"}, "start it with +JPperf true", ""},
		{[]string{"libruby", "ruby"}, "start it with --yjit-perf", ""},
		{[]string{"php", "libphp"}, "start it with -d opcache.jit_debug=16", ""},
		{[]string{"luajit", "libluajit"}, "build LuaJIT with -DLUAJIT_USE_PERFTOOLS", ""},
		{[]string{"libpython", "python3"}, "start it with PYTHONPERFSUPPORT=1 (Python 3.12 or later)", ""},
	}
}

// generatorOf recognises what generates a process's code by the files that it has mapped.
func generatorOf(files []string) codeGenerator {
	for _, g := range codeGenerators() {
		for _, file := range files {
			if slices.ContainsFunc(g.files, func(prefix string) bool { return isFileOf(path.Base(file), prefix) }) {
				return g
			}
		}
	}
	return codeGenerator{names: "switch on its runtime's perf map (/tmp/perf-PID.map) or jitdump"}
}

// isFileOf reports whether a name is the prefix, perhaps with a version: node, node20, python3.13, libjvm.so.
func isFileOf(name, prefix string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	return ok && (rest == "" || !isLetter(rest[0]))
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// generatedTexts are warnings about processes whose generated code has no names, or hides its callers.
func generatedTexts(processes []assemble.GeneratedCode) (texts []string) {
	more := 0
	for i := range processes {
		text := generatedText(&processes[i])
		switch {
		case text == "":
		case len(texts) < generatedNamed:
			texts = append(texts, text)
		default:
			more++
		}
	}
	if more > 0 {
		texts = append(texts, fmt.Sprintf("%d more of the recorded processes have generated code without names or callers", more))
	}
	return texts
}

// generatedText is the advice for one process; "": it needs none.
func generatedText(g *assemble.GeneratedCode) string {
	isMany := func(n uint64) bool { return n >= generatedFew && float64(n) >= generatedShare*float64(g.Stacks) }
	from := generatorOf(g.Files)
	var parts []string
	isListed := 2*g.Named >= g.Stacks // the runtime lists its functions, if not all
	if isMany(g.Unnamed) && !isListed {
		parts = append(parts, "has no names: "+strings.ReplaceAll(from.names, "PID", fmt.Sprint(g.PID)))
	}
	if isMany(g.Cut) && from.frames != "" {
		parts = append(parts, "hides its callers: "+from.frames)
	}
	if len(parts) == 0 {
		return ""
	}
	name := "process"
	if g.Name != "" {
		name = printable.Text(g.Name)
	}
	return fmt.Sprintf("the generated code of %s (PID %d) %s", name, g.PID, strings.Join(parts, "; it "))
}
