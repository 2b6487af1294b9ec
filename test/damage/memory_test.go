//go:build linux

package damage

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"wprof/test/tools"
)

// bulkOutputs are all tools with what they can write.
func bulkOutputs() []string {
	return []string{
		"wprof-filter", "wprof-filter -p 7 --children", "wprof-filter --start 100ms", "wprof-symbolize",
		"wprof-perfetto", "wprof-perfetto -e arrows,sched-extras,embed-stacks,timer-ticks",
		"wprof-json", "wprof-json --stream", "wprof-json --chrome", "wprof-json --firefox", "wprof-json --parquet DIR",
		"wprof-flame", "wprof-flame --by thread", "wprof-flame --html", "wprof-flame --svg", "wprof-flame --pprof", "wprof-flame --speedscope",
		"wprof-flame --wakeup-chain 4", "wprof-flame --analysis", "wprof-flame --diff FILE",
		"wprof-info", "wprof-info --json", "wprof-info --report", "wprof-info --check", "wprof-info --dump",
	}
}

// Whatever a sound stream has in very large numbers, no tool takes more than 256 MiB. Each stream goes through the output that
// keeps most of it; with WPROF_BULK_SCALE, streams are that many times as large and go through all outputs.
func TestMemoryIsBoundedWhateverAStreamHas(t *testing.T) {
	scale, _ := strconv.Atoi(os.Getenv("WPROF_BULK_SCALE"))
	worst := int64(0)
	for _, c := range bulks() {
		if scale == 0 && c.most == "" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "bulk.wprof")
			outputs := []string{c.most}
			if scale > 0 {
				outputs = bulkOutputs()
			}
			writeBulk(t, file, max(1, scale)*c.n, c.fill)
			for _, output := range outputs {
				r := runBulk(t, output, file)
				worst = max(worst, r.PeakBytes)
				switch {
				case r.Status != 0 && r.Status != 4:
					t.Errorf("%s: status %d: %.500s", output, r.Status, r.Stderr)
				case r.PeakBytes > hostilePeak:
					t.Errorf("%s took %d MiB", output, r.PeakBytes>>20)
				case c.name == "many threads" && scale == 0 && (r.Status != 0 || bytes.Contains(r.Stderr, []byte("dropped")) || bytes.Contains(r.Stderr, []byte("added up"))):
					t.Errorf("%s of 65,536 threads that are alive and 100,000 that have ended is not whole: %s", output, r.Stderr)
				}
			}
		})
	}
	t.Logf("soak: %d MiB at most, for %d times as much as in scripts/test", worst>>20, max(1, scale))
}

func runBulk(t *testing.T, output, file string) tools.Result {
	args := strings.Fields(output)
	at := len(args)
	args = append(args, "-o", os.DevNull)
	for i := range at {
		switch args[i] {
		case "DIR":
			args[i], args = filepath.Join(t.TempDir(), "columns"), args[:at]
		case "FILE":
			args[i] = file
		}
	}
	return tools.Try(t, hang, nil, args[0], append(args[1:], file)...)
}
