//go:build linux

package ending

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wprof/test/tools"
)

// shell runs a pipeline in bash, with the tools on PATH, and returns the exit statuses and what was said. After two minutes
// all of it is killed, and there are no statuses.
func shell(t testing.TB, pipeline string) (statuses, said string) {
	t.Helper()
	cmd := exec.Command("bash", "-c", pipeline+`; echo "${PIPESTATUS[@]}" >&3`)
	cmd.Env = append(os.Environ(), "PATH="+tools.Folder()+":"+os.Getenv("PATH"))
	r, w, err := os.Pipe()
	must(t, err)
	defer r.Close()
	cmd.ExtraFiles = []*os.File{w}
	var stderr tools.Buffer
	cmd.Stderr = &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	must(t, cmd.Start())
	w.Close()
	late := time.AfterFunc(2*time.Minute, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	defer late.Stop()
	text := make([]byte, 100)
	n, _ := r.Read(text)
	_ = cmd.Wait()
	return strings.TrimSpace(string(text[:n])), stderr.String()
}

// TestHeadEndsEveryTool: a reader that has read enough ends the pipeline, without a message.
func TestHeadEndsEveryTool(t *testing.T) {
	tools.NeedPrivilege(t)
	stamps(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "x.wprof")
	tools.Run(t, "wprof-record", "-d1s", "-Sall", "--offcpu-min=0", "-o", file)
	before := everything(t)
	for _, c := range []struct{ pipeline, want string }{
		{"wprof-record --no-stacks -d100s | head -c 1000", "141 0"},
		{"wprof-record --no-stacks -d100s --live | head -c 1000", "141 0"},
		{"wprof-record --no-stacks -d100s --live | wprof-filter | head -c 1000", "141 141 0"},
		{"wprof-record --no-stacks -d100s --live | wprof-symbolize | head -c 1000", "141 141 0"},
		{"wprof-record --no-stacks -d100s --live | wprof-perfetto | head -c 1000", "141 141 0"},
		{"wprof-record --no-stacks -d100s --live | wprof-info --dump | head", "141 141 0"},
		{"wprof-record --no-stacks -d100s --live | wprof-json --stream -k exec | head -c 1000", "141 141 0"},
		{"wprof-record --no-stacks -d100s --live | wprof-json | sleep 1", "141 141 0"},
		{"wprof-record --no-stacks -d100s | true", "141 0"},
		{"wprof-filter " + file + " | head -c 1000", "141 0"},
		{"wprof-symbolize -z0 " + file + " | head -c 1000", "141 0"},
		{"wprof-perfetto " + file + " | head -c 1000", "141 0"},
		{"wprof-info --dump " + file + " | head", "141 0"},
		{"wprof-json " + file + " | head -c 1000", "141 0"},
		{"cat " + file + " | wprof-json --stream | head -c 1000", "* 141 0"},
		{"cat " + file + " | wprof-filter | wprof-perfetto | head -c 1000", "* 141 0"},
	} {
		t.Run(strings.ReplaceAll(c.pipeline, dir+"/", ""), func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			pipeline := c.pipeline
			if strings.Contains(pipeline, "-d100s |") {
				// It has nothing to write meanwhile: it ends only if it polls its output.
				pipeline = strings.Replace(pipeline, "head -c 1000", "sleep 1", 1)
			}
			got, said := shell(t, pipeline)
			// What the pipe holds as a whole may have been written before it was closed.
			fits := strings.Contains(pipeline, file) && strings.HasSuffix(got, "0 0")
			if want := strings.TrimPrefix(c.want, "*"); !strings.HasSuffix(got, want) && !fits || said != "" {
				t.Errorf("exit statuses %s, want %s; said: %q", got, c.want, said)
			}
			if took := time.Since(begin); took > 90*time.Second {
				t.Errorf("it took %v", took)
			}
			nothingLeft(t, before, nil)
		})
	}
}

// TestReaderThatFailsEndsTheRecording: its message is the only one. The recording by itself would go on for longer than the
// pipeline may take.
func TestReaderThatFailsEndsTheRecording(t *testing.T) {
	tools.NeedPrivilege(t)
	for pipeline, want := range map[string]string{
		"wprof-record --no-stacks -d1000s | wprof-json -k no-such-kind":                            "141 2",
		"wprof-record --no-stacks -d1000s | wprof-perfetto --no-such-flag":                         "141 2",
		"wprof-record --no-stacks -d1000s | wprof-filter | wprof-perfetto -o /no/such/folder/t.pb": "141 141 1",
		"wprof-record -d1000s --live | (head -c 5000 >/dev/null; exit 7)":                          "141 7",
	} {
		t.Run(pipeline, func(t *testing.T) {
			t.Parallel()
			got, said := shell(t, pipeline)
			if got != want || strings.Contains(said, "wprof-record") || strings.Contains(said, "wprof-filter") {
				t.Errorf("exit statuses %s, want %s; said: %q", got, want, said)
			}
		})
	}
}

// TestStoppedToolGoesOn: Ctrl-Z and fg at every tool of a pipeline. A stopped recorder loses what its rings do not hold and
// says so; the workload here is small enough.
func TestStoppedToolGoesOn(t *testing.T) {
	tools.NeedPrivilege(t)
	for _, live := range []bool{false, true} {
		for _, target := range []int{recorder, filter, perfetto, group} {
			t.Run("live "+strconv.FormatBool(live)+"/"+targetName(target), func(t *testing.T) {
				t.Parallel()
				args := []string{"-d100s", "--no-stacks"}
				if live {
					args = append(args, "--live")
				}
				p := startPipeline(t, args...)
				p.reach(recording)
				p.signal(target, syscall.SIGTSTP)
				time.Sleep(700 * time.Millisecond)
				p.signal(target, syscall.SIGCONT)
				time.Sleep(300 * time.Millisecond)
				p.signal(recorder, unix.SIGINT)
				if got := p.wait(); got != [3]int{} {
					t.Errorf("exit statuses %v: %q", got, p.said())
				}
				p.complete(100)
			})
		}
	}
}

// TestStoppedRecorderLosesNothingThatItsRingsHold stops it over the cut of a generation, and compares all that happened.
func TestStoppedRecorderLosesNothingThatItsRingsHold(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	stamps := stamps(t)
	file := filepath.Join(t.TempDir(), "x.wprof")
	r := tools.Start(t, "-d60s", "--ringbuf-size=64mb", "-o", file)
	time.Sleep(1800 * time.Millisecond)
	must(t, r.Cmd.Process.Signal(syscall.SIGSTOP))
	time.Sleep(700 * time.Millisecond)
	must(t, r.Cmd.Process.Signal(syscall.SIGCONT))
	time.Sleep(300 * time.Millisecond)
	if got := r.Stop(); got != 0 {
		t.Errorf("status %d: %s", got, r.Stderr.String())
	}
	s := whole(t, file)
	if n := s.compare(t, readStamps(t, stamps)); n < 1000 && len(s.lost) == 0 {
		t.Errorf("%d departures could be compared", n)
	}
}

// TestSlowReaderLosesNothing: what waits for a slow reader is the spool, not the recording.
func TestSlowReaderLosesNothing(t *testing.T) {
	tools.NeedPrivilege(t)
	for _, flag := range []string{"--live", "-z0"} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			stamps := stamps(t)
			r, w, err := os.Pipe()
			must(t, err)
			defer r.Close()
			cmd := exec.Command(tools.Path("wprof-record"), "-d1500ms", flag)
			cmd.Stdout = w
			var stderr tools.Buffer
			cmd.Stderr = &stderr
			must(t, cmd.Start())
			w.Close()
			late := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
			var stream []byte
			piece := make([]byte, 200<<10)
			for {
				n, err := r.Read(piece)
				stream = append(stream, piece[:n]...)
				if err != nil {
					break
				}
				if len(stream) < 4<<20 {
					time.Sleep(50 * time.Millisecond)
				}
			}
			_ = cmd.Wait()
			if got := tools.Status(cmd.ProcessState); !late.Stop() || got != 0 {
				t.Errorf("status %d: %s", got, stderr.String())
			}
			s := readDepartures(t, strings.NewReader(string(stream)))
			if n := s.compare(t, readStamps(t, stamps)); n < 1000 && len(s.lost) == 0 {
				t.Errorf("%d departures could be compared", n)
			}
		})
	}
}
