//go:build linux

package profiles

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"wprof/test/page"
	"wprof/test/tools"
)

// pprof runs Go's own pprof, which finds programs by the paths in the profile alone.
func pprof(t *testing.T, args ...string) string {
	t.Helper()
	out, _ := tools.Pprof(t, args...)
	return out
}

func pprofOf(t *testing.T, capture string) string {
	t.Helper()
	return tools.Convert(t, filepath.Join(t.TempDir(), "p.pb.gz"), "wprof-flame", "--by", "thread", "--pprof", capture)
}

// cums are the times by function that pprof -top shows of a thread, with what they call, ns; under "" that of all.
func cums(t *testing.T, profile, sampleType, tid string) map[string]int64 {
	t.Helper()
	text := pprof(t, "-top", "-unit=ns", "-nodecount=100000", "-nodefraction=0", "-sample_index="+sampleType, "-tagroot=tid",
		"-tagfocus=tid="+tid, profile)
	all := make(map[string]int64)
	_, table, _ := strings.Cut(text, "cum%\n")
	for line := range strings.Lines(table) {
		words := strings.Fields(line)
		ns, err := strconv.ParseInt(strings.TrimSuffix(words[3], "ns"), 10, 64)
		if err != nil {
			t.Fatalf("pprof printed %q", line)
		}
		all[strings.Join(words[5:], " ")] = ns
	}
	all[""] = all[tid+"ns"] // pprof gives a number the requested unit, whatever it counts
	return all
}

// For threads that stay in one function, pprof shows the time that they measured themselves.
func TestPprofMatchesWhatThreadsMeasured(t *testing.T) {
	t.Parallel()
	threeTimes(t, func() (wrong []string) {
		capture, rooms, taken := record(t, "rooms")
		profile := pprofOf(t, capture)
		check := func(what string, r room, got, least, most int64) {
			if slack := r.present / 50; got < least-slack || got > most+slack {
				wrong = append(wrong, fmt.Sprintf("%s: pprof says %d ms, want %d to %d", what, got/1e6, least/1e6, most/1e6))
			}
		}
		spin := rooms["spin"]
		on := cums(t, profile, "on_cpu", spin.tid)
		check("the spinner on the CPU", spin, on[""], spin.cpu, spin.cpu+taken)
		// Nearly all of its samples are in the room, and times without a sample are in no function.
		check("the spinner on the CPU in its room", spin, on["spin_room"]+on["[not sampled]"], spin.cpu*9/10, spin.cpu+taken)
		check("the spinner waiting for the CPU", spin, cums(t, profile, "delay", spin.tid)[""], spin.present-spin.cpu-taken, spin.present-spin.cpu)
		for name, function := range map[string]string{"nap": "napper", "lock": "locker"} {
			r := rooms[name]
			off, delay := cums(t, profile, "off_cpu", r.tid), cums(t, profile, "delay", r.tid)
			check("the "+function+" off the CPU", r, off[function]+delay[function], r.in-r.cpu-taken, r.present)
			check("the "+function+"'s lifetime", r, cums(t, profile, "wall", r.tid)[""], r.present, r.present)
		}
		return wrong
	})
}

// Addresses, mappings and build-ids are such that pprof finds the lines of the source by itself: the hot one is the hottest.
func TestPprofFindsLinesOfTheSource(t *testing.T) {
	for _, program := range []string{"rooms", "rooms-static"} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			capture, _, _ := record(t, program)
			list := pprof(t, "-symbolize=force", "-unit=ms", "-list=^spin_room$", pprofOf(t, capture))
			hottest, most := "", 0.0
			for line := range strings.Lines(list) {
				words := strings.Fields(line)
				if len(words) < 3 || !regexp.MustCompile(`^\s*[0-9.]+ms\s+[0-9.]+ms\s+\d+:`).MatchString(line) {
					continue
				}
				if ms, err := strconv.ParseFloat(strings.TrimSuffix(words[0], "ms"), 64); err == nil && ms > most {
					hottest, most = line, ms
				}
			}
			if !strings.Contains(hottest, "hot line") && !strings.Contains(hottest, "for (int i") {
				t.Errorf("the hottest line is %q in\n%s", hottest, list)
			}
		})
	}
}

// The page of pprof -http draws the functions.
func TestPprofPageDrawsFunctions(t *testing.T) {
	t.Parallel()
	capture, _ := recorded(t)
	at := serve(t, pprofOf(t, capture))
	for sampleType, functions := range map[string][]string{"on_cpu": {"spin_room", "spinner"}, "off_cpu": {"napper", "locker", "hrtimer_nanosleep"}} {
		for _, function := range functions {
			// Focused: a box that is narrow has no text.
			p := page.OpenURL(t, at+"/flamegraph?si="+sampleType+"&f="+function)
			p.Wait(fmt.Sprintf(`[...document.querySelectorAll('.boxtext')].some((box) => box.innerText === %q)`, function))
		}
	}
}

// serve starts pprof's web server, which ends with the test, and waits until it answers.
func serve(t *testing.T, profile string) string {
	t.Helper()
	pprof(t, "-top", profile) // builds the tool first: killing go tool would not end its build
	path, err := exec.Command("go", "tool", "-n", "pprof").Output()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(strings.TrimSpace(string(path)), "-http=127.0.0.1:", "-no_browser", profile)
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if _, at, found := strings.Cut(lines.Text(), "Serving web UI on "); found {
			return answering(t, at)
		}
	}
	t.Fatal("pprof serves no pages")
	return ""
}
