//go:build linux

package damage

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"wprof/test/tools"
)

func TestMain(m *testing.M) {
	tools.Main(m, tools.C{Name: "worker", Source: "testdata/worker.c", Flags: []string{"-fno-omit-frame-pointer", "-lpthread"}})
}

// seeded is the source of random places. WPROF_DAMAGE_SEED chooses another one.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(1)
	if text := os.Getenv("WPROF_DAMAGE_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("WPROF_DAMAGE_SEED: %v", err)
		}
	}
	t.Logf("random places of WPROF_DAMAGE_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// everyVariant reports whether each damaged file goes through each tool both from a file and through a pipe (WPROF_DAMAGE_ALL=1,
// scripts/soak). Otherwise the tools take turns.
func everyVariant() bool { return os.Getenv("WPROF_DAMAGE_ALL") != "" }
