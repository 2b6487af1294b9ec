package capture

import (
	"slices"
	"testing"

	"wprof/internal/assemble"
)

func TestGeneratedCodeGetsTheAdviceOfItsRuntime(t *testing.T) {
	for _, c := range []struct {
		process assemble.GeneratedCode
		want    string
	}{
		{
			assemble.GeneratedCode{PID: 7, Name: "node", Files: []string{"/usr/bin/node", "/lib/libc.so.6"}, Stacks: 90, Unnamed: 80, Cut: 80},
			"the generated code of node (PID 7) has no names: start it with --perf-basic-prof",
		},
		{
			assemble.GeneratedCode{PID: 7, Name: "java", Files: []string{"/opt/bin/java", "/opt/lib/server/libjvm.so"}, Stacks: 90, Unnamed: 80},
			"the generated code of java (PID 7) has no names: run jcmd 7 Compiler.perfmap before the recording ends",
		},
		{
			assemble.GeneratedCode{PID: 7, Name: "java", Files: []string{"/opt/lib/server/libjvm.so"}, Stacks: 90, Unnamed: 2, Cut: 80},
			"the generated code of java (PID 7) hides its callers: start it with -XX:+PreserveFramePointer",
		},
		{
			assemble.GeneratedCode{PID: 7, Name: "py", Files: []string{"/usr/bin/python3.13"}, Stacks: 5, Unnamed: 5},
			"the generated code of py (PID 7) has no names: start it with PYTHONPERFSUPPORT=1 (Python 3.12 or later)",
		},
		{
			assemble.GeneratedCode{PID: 7, Files: []string{"/usr/bin/nodes"}, Stacks: 5, Unnamed: 5},
			"the generated code of process (PID 7) has no names: switch on its runtime's perf map (/tmp/perf-7.map) or jitdump",
		},
		{assemble.GeneratedCode{PID: 7, Name: "java", Files: []string{"libjvm.so"}, Stacks: 90, Unnamed: 8, Cut: 8}, ""},
		{assemble.GeneratedCode{PID: 7, Name: "node", Files: []string{"node"}, Stacks: 4, Unnamed: 4}, ""},
		{assemble.GeneratedCode{PID: 7, Name: "node", Files: []string{"node"}, Stacks: 90, Unnamed: 80, Named: 85}, ""},
		{
			assemble.GeneratedCode{PID: 7, Name: "node", Files: []string{"node"}, Stacks: 90, Unnamed: 80, Named: 10},
			"the generated code of node (PID 7) has no names: start it with --perf-basic-prof",
		},
	} {
		if got := generatedText(&c.process); got != c.want {
			t.Errorf("%+v\ngot  %s\nwant %s", c.process, got, c.want)
		}
	}
}

func TestManyProcessesWithGeneratedCodeAreCounted(t *testing.T) {
	var processes []assemble.GeneratedCode
	for pid := range uint32(7) {
		processes = append(processes, assemble.GeneratedCode{PID: pid, Name: "node", Files: []string{"/bin/node"}, Stacks: 9, Unnamed: 9})
	}
	got := generatedTexts(processes)
	const want = "3 more of the recorded processes have generated code without names or callers"
	if len(got) != 5 || !slices.Contains(got, want) {
		t.Errorf("got %q, want four processes and %q", got, want)
	}
}
