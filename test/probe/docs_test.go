//go:build linux

package probe

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"wprof/internal/probe"
	"wprof/test/tools"
)

// page is docs/utrace.md: its indented blocks.
func page(t *testing.T) (blocks []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/utrace.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(text), "\n\n") {
		if strings.HasPrefix(part, "    ") {
			blocks = append(blocks, regexp.MustCompile(`(?m)^ {4}`).ReplaceAllString(strings.TrimRight(part, "\n"), ""))
		}
	}
	return blocks
}

// stage is a folder with what the page takes for granted.
func stage(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, program := range map[string]string{"server": "server", "shop": "known-cc"} {
		if err := os.Link(tools.Path(program), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile("../../docs/utrace.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range regexp.MustCompile("where `(.*)` has:\n\n((?: {4}.*\n)+)").FindAllSubmatch(text, -1) {
		if err := os.WriteFile(filepath.Join(dir, string(file[1])), file[2], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Each example of the page works, and those that record have events.
func TestExamplesOfTheDocumentation(t *testing.T) {
	tools.NeedPrivilege(t)
	dir := stage(t)
	tools.StartWorkload(t, exec.Command("bash", "-c", "while sleep 0.05; do :; done")) // programs that are executed
	if tried := tryExamples(t, dir, false); tried < 25 {
		t.Errorf("%d examples", tried)
	}
}

// So do those that probe the kernel and BPF programs, but on kernels that cannot probe these, which they say. scripts/test-kernels runs them
// on others.
func TestKernelFunctionsOfTheDocumentation(t *testing.T) {
	tools.NeedPrivilege(t)
	dir := stage(t)
	loadPrograms(t, dir)
	if tried := tryExamples(t, dir, true); tried < 4 {
		t.Errorf("%d examples", tried)
	}
}

// tryExamples runs the examples that probe the kernel or BPF programs, or all others, in the order of the page.
func tryExamples(t *testing.T, dir string, ofKernel bool) (tried int) {
	t.Helper()
	server := tools.StartWorkload(t, exec.Command(filepath.Join(dir, "server"), "0"))
	var commands []string
	for _, block := range page(t) {
		for command := range strings.Lines(block) {
			if !regexp.MustCompile(`^wprof-[a-z]+ `).MatchString(command) || strings.Contains(command, "DEFINITION") || strings.Contains(command, "TARGET") {
				continue
			}
			if probesKernel(command) == ofKernel {
				commands = append(commands, strings.NewReplacer("1234", server.PIDText(), "-d2s", "-d300ms", "-d5s", "-d300ms", "\n", "").Replace(command))
			}
		}
	}
	together := recordings(commands)
	for _, command := range commands {
		if r := together[command]; r != nil {
			r.restore(t, dir)
		} else {
			tryExample(t, dir, command)
		}
	}
	return len(commands)
}

// recording is one of several examples whose commands are the same but for what they probe.
type recording struct {
	flags, rest string
	definitions []string
	recorded    bool
}

// recordings returns the recordings of examples, by their commands. Examples with breakpoints, of which a processor has four, and those that
// some kernels refuse are recorded one by one.
func recordings(commands []string) map[string]*recording {
	alike := regexp.MustCompile(`^wprof-record (-d\S+ )?-U ('[^']*') ([^']*)$`)
	byRest, together := make(map[string]*recording), make(map[string]*recording)
	for _, command := range commands {
		m := alike.FindStringSubmatch(command)
		if m == nil || probesKernel(command) || strings.Contains(command, "'watch:") {
			continue
		}
		r := byRest[m[1]+m[3]]
		if r == nil {
			r = &recording{flags: m[1], rest: m[3]}
			byRest[m[1]+m[3]] = r
		}
		r.definitions = append(r.definitions, m[2])
		together[command] = r
	}
	return together
}

// restore gives the output of the recording its name again, for the examples that read it: others have the same one.
func (r *recording) restore(t *testing.T, dir string) {
	t.Helper()
	_, output, _ := strings.Cut(r.rest, "-o ")
	output, _, _ = strings.Cut(output, " ")
	output = filepath.Join(dir, output)
	kept := filepath.Join(dir, "of "+strings.ReplaceAll(r.rest, "/", "_"))
	if !r.recorded {
		r.recorded = true
		r.record(t, dir, output)
		if err := os.Link(output, kept); err != nil {
			t.Fatal(err)
		}
	}
	_ = os.Remove(output)
	if err := os.Link(kept, output); err != nil {
		t.Fatal(err)
	}
}

// record records the examples. Each of them must have events, and each has an id of its own.
func (r *recording) record(t *testing.T, dir, output string) {
	t.Helper()
	tryExample(t, dir, "wprof-record "+r.flags+"-U "+strings.Join(r.definitions, " -U ")+" "+r.rest)
	ids := make(map[string]bool)
	for _, m := range regexp.MustCompile(`"utrace_id":("[^"]*")`).FindAllSubmatch(tools.Run(t, "wprof-json", output), -1) {
		ids[string(m[1])] = true
	}
	if len(ids) != len(r.definitions) {
		t.Errorf("%d of %d examples have events:\n%s\n%s", len(ids), len(r.definitions), strings.Join(r.definitions, "\n"), tools.Run(t, "wprof-info", "--probes", output))
	}
}

func probesKernel(command string) bool {
	return regexp.MustCompile(`'(k|bpf)(ret|span)?:`).MatchString(command)
}

// loadPrograms loads BPF programs until the test ends: those of a recorder.
func loadPrograms(t *testing.T, dir string) {
	t.Helper()
	tools.StartWorkload(t, exec.Command(tools.Path("wprof-record"), "-d10m", "-o", filepath.Join(dir, "other.wprof")))
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if bytes.Contains(tools.Try(t, time.Minute, nil, "wprof-record", "--list", "bpf:*").Stdout, []byte(", sched_switch\n")) {
			return
		}
	}
	t.Fatal("the recorder has loaded no programs")
}

func tryExample(t *testing.T, dir, command string) {
	t.Helper()
	cmd := exec.Command("bash", "-c", command)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+tools.Folder()+":"+os.Getenv("PATH"))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	_, output, toFile := strings.Cut(command, " -o ")
	output, _, _ = strings.Cut(output, " ")
	switch {
	case err != nil && probesKernel(command) && regexp.MustCompile("it has no kprobes|Linux 6.8 or later is needed").Match(stderr.Bytes()):
	case err != nil:
		t.Errorf("%s\n%v: %s", command, err, stderr.Bytes())
	case strings.HasPrefix(command, "wprof-record") && !(probesKernel(command) && strings.Contains(command, "min:")):
		// On a busy machine the kernel skips some hits of tracepoints.
		if lines := tools.Run(t, "wprof-json", filepath.Join(dir, output)); !bytes.Contains(lines, []byte(`"utrace_id":`)) {
			t.Errorf("%s\nhas recorded no event of a probe: %s", command, stderr.Bytes())
		}
	case !toFile && stdout.Len() == 0:
		t.Errorf("%s\nprints nothing", command)
	case toFile:
		if info, err := os.Stat(filepath.Join(dir, output)); err != nil || info.Size() == 0 {
			t.Errorf("%s\nwrites nothing (%v)", command, err)
		}
	}
}

// The lines of JSON on the page have the form and the fields of real ones, and the error is what the recorder says.
func TestOutputInTheDocumentation(t *testing.T) {
	tools.NeedPrivilege(t)
	dir := stage(t)
	for _, block := range page(t) {
		if strings.HasPrefix(block, "wprof-record: ") {
			definition := strings.TrimSpace(strings.Split(block, "\n")[1])
			r := tools.Try(t, time.Minute, nil, "wprof-record", "-U", definition, "-o", filepath.Join(dir, "a.wprof"), "--", filepath.Join(dir, "server"))
			if got := strings.TrimSpace(string(r.Stderr)); got != block {
				t.Errorf("the recorder says\n%s\nand the page\n%s", got, block)
			}
		}
	}
	c := record(t, []string{
		`u:read_block (arg:size, stack)`,
		`uspan:handle_request (arg:path, arg:ret/name(status)) | id:request, name:"{path} {status}" |`,
		`u:read_block | id:callers, count, by:comm |`,
	}, filepath.Join(dir, "server"))
	shapes := make(map[string]bool)
	for _, line := range strings.Split(string(tools.Run(t, "wprof-json", c.file)), "\n") {
		shapes[shape(line)] = true
	}
	lines := 0
	for _, block := range page(t) {
		for line := range strings.Lines(block) {
			if strings.HasPrefix(line, "{") {
				lines++
				if !shapes[shape(line)] {
					t.Errorf("no real line is like %s", line)
				}
			}
		}
	}
	if lines < 4 {
		t.Errorf("%d lines of JSON", lines)
	}
}

// shape is a line of JSON without its numbers.
func shape(line string) string {
	return regexp.MustCompile(`[0-9]+(\.[0-9]+)?`).ReplaceAllString(strings.TrimSpace(line), "0")
}

// All definitions on the page can be parsed.
func TestDefinitionsInTheDocumentation(t *testing.T) {
	n := 0
	for _, block := range page(t) {
		for _, found := range regexp.MustCompile(`-U '([^']+)'`).FindAllStringSubmatch(block, -1) {
			if strings.HasPrefix(found[1], "PROBE:") {
				continue
			}
			n++
			if _, err := probe.Parse(found[1]); err != nil {
				t.Error(err)
			}
		}
	}
	if n < 20 {
		t.Errorf("%d definitions", n)
	}
}

// The tables on the page have all words of the language.
func TestWordsInTheDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../docs/utrace.md")
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, row := range probe.Kinds() {
		words = append(words, row.Word+":")
	}
	for _, row := range probe.Types() {
		words = append(words, row.Words...)
	}
	for _, row := range slices.Concat(probe.ParameterWords(), probe.SettingWords(), probe.ThreadWords(), probe.WatchWords()) {
		words = append(words, row.Word)
	}
	for _, row := range probe.ModifierWords() {
		words = append(words, "/"+row.Word)
	}
	for _, word := range words {
		if !bytes.Contains(text, []byte("`"+word)) {
			t.Errorf("the page does not have `%s`", word)
		}
	}
}
