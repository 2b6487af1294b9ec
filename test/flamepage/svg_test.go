//go:build linux

package flamepage

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"wprof/test/page"
	"wprof/test/tools"
)

// scene is a program to take pictures of.
type scene struct {
	name          string
	threads, busy int // thousandths of a thread's time
	by            string
}

func scenes() []scene {
	return []scene{{"one", 1, 400, "process"}, {"sixty", 60, 15, "thread"}, {"asleep", 4, 10, "process"}}
}

// capture records the scene's program for some time.
func (s *scene) capture(t *testing.T) string {
	t.Helper()
	office := tools.StartWorkload(t, exec.Command(tools.Path("office"), strconv.Itoa(s.threads), strconv.Itoa(s.busy), t.TempDir()))
	office.Until("ready")
	file := filepath.Join(t.TempDir(), s.name+".wprof")
	tools.Run(t, "wprof-record", "-Stimer=997hz", "-S+offcpu", "--offcpu-min=0", "-d3s", "-p", office.PIDText(), "-o", file)
	return file
}

// TestSVGOfCaptures: a browser shows a capture without complaint, and its search shows the share that folded stacks have.
// With WPROF_SHOTS=FOLDER it keeps pictures of what it draws.
func TestSVGOfCaptures(t *testing.T) {
	tools.NeedPrivilege(t)
	for _, s := range scenes() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			capture := s.capture(t)
			svg := tools.Convert(t, filepath.Join(t.TempDir(), s.name+".svg"), "wprof-flame", "--svg", "--by", s.by, capture)
			frame, share := widest(string(tools.Run(t, "wprof-flame", "--by", s.by, "--unit=ns", capture)))

			p := page.Open(t, svg)
			shoot(t, p, s.name+"-dark", "dark")
			shoot(t, p, s.name, "light")
			p.Key("/")
			p.Type("^" + frame + "$")
			found := p.Text(`document.querySelector('.found').textContent`)
			if got := percentage(found); math.Abs(got-share) > 0.06 {
				t.Errorf("%s has %.2f%% of the folded time, the picture says %s", frame, share, found)
			}
			p.Key("Enter") // to the frame
			p.Key("Enter") // into it
			if got := p.Text(`document.querySelector('.found').textContent`); got != found+", 100% of zoomed" {
				t.Errorf("in %s the picture says %s, and %s before", frame, got, found)
			}
			shoot(t, p, s.name+"-zoomed", "light")
			p.ClickOn(".reset")
			if got := p.Text(`document.querySelector('.found').textContent`); got != found {
				t.Errorf("after the reset the picture says %s, and %s before", got, found)
			}
			if e, r := p.ConsoleErrors(), p.Requests(); len(e)+len(r) > 0 {
				t.Errorf("the page has errors %q, and requested %q", e, r)
			}
		})
	}
}

// widest is the function of office's own in which most time was spent, and its share in percent.
func widest(folded string) (frame string, share float64) {
	var total float64
	sums := make(map[string]float64)
	for line := range strings.Lines(folded) {
		at := strings.LastIndexByte(line, ' ')
		ns, _ := strconv.ParseFloat(strings.TrimSpace(line[at+1:]), 64)
		total += ns
		seen := make(map[string]bool)
		for frame := range strings.SplitSeq(strings.NewReplacer("_[c]", "", "_[o]", "").Replace(line[:at]), ";") {
			if !seen[frame] {
				sums[frame] += ns
			}
			seen[frame] = true
		}
	}
	for _, of := range []string{"wait_for_request", "answer", "render_table", "query_database", "serve"} {
		if sums[of] > sums[frame] {
			frame = of
		}
	}
	return frame, 100 * sums[frame] / total
}

// percentage is the number that a text begins with.
func percentage(text string) float64 {
	var v float64
	if _, err := fmt.Sscanf(text, "%f%%", &v); err != nil {
		return math.NaN()
	}
	return v
}

// shoot keeps a screenshot where one is requested.
func shoot(t *testing.T, p *page.Page, name, scheme string) {
	t.Helper()
	if folder := os.Getenv("WPROF_SHOTS"); folder != "" {
		p.Prefer("color-scheme", scheme)
		p.Screenshot(filepath.Join(folder, "flame-"+name+".png"))
	}
}
