//go:build linux

package damage

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// cutAt is the stream up to a byte.
func cutAt(stream []byte, at int) damaged {
	return damaged{fmt.Sprintf("cut at byte %d of %d", at, len(stream)), stream[:at], at, len(stream) + 1}
}

// flipAt is the stream with one byte changed.
func flipAt(stream []byte, at int, bits byte) damaged {
	return damaged{fmt.Sprintf("byte %d changed by %#02x", at, bits), nil, at, at + 1}.flipped(stream, bits)
}

func (d damaged) flipped(stream []byte, bits byte) damaged {
	d.stream = bytes.Clone(stream)
	d.stream[d.from] ^= bits
	return d
}

// each puts damages through the tools, a few at a time. A damaged stream is made when its turn comes.
func each(t *testing.T, c *captured, count int, make func(i int) damaged) {
	t.Helper()
	all, begin := ways(), time.Now()
	dir := t.TempDir()
	var next, failures atomic.Int64
	var wait sync.WaitGroup
	for worker := range 3 {
		wait.Go(func() {
			name := filepath.Join(dir, fmt.Sprint(worker, ".wprof"))
			for failures.Load() < 10 && (everyWay() || time.Since(begin) < budget) {
				i := int(next.Add(1) - 1)
				if i >= count {
					return
				}
				d := make(i)
				r := reckon(c.pieces, &d)
				for k := range all {
					if !everyWay() && k != i%len(all) {
						continue
					}
					got := all[k].run(t, name, d.stream)
					if wrong := all[k].judgeAll(c, &d, &r, &got); wrong != "" {
						failures.Add(1)
						t.Errorf("%s: %s: %s", d.what, &all[k], wrong)
					}
				}
			}
		})
	}
	wait.Wait()
	t.Logf("%d of %d places in %v", min(int(next.Load()), count), count, time.Since(begin).Round(time.Second))
}

// inAllWays is a place so often that each way has its turn with it.
func inAllWays(at int) []int {
	if everyWay() {
		return []int{at}
	}
	places := make([]int, len(ways()))
	for i := range places {
		places[i] = at
	}
	return places
}

func committed(t *testing.T) *captured {
	t.Helper()
	stream, err := os.ReadFile("testdata/capture.wprof")
	if err != nil {
		t.Fatal(err)
	}
	return newCaptured(t, stream)
}

// What is not damaged goes through unchanged; without this the tests below would say nothing.
func TestIntactCaptureGoesThroughEveryTool(t *testing.T) {
	c := committed(t)
	r := reckoning{whole: c.pieces}
	all := ways()
	for i := range all {
		got := all[i].run(t, filepath.Join(t.TempDir(), "intact.wprof"), c.stream)
		if wrong := all[i].judgeAll(c, &damaged{}, &r, &got); wrong != "" {
			t.Errorf("%s: %s", &all[i], wrong)
		}
	}
}

func TestCutsInTheBeginningLeaveEveryWholeBlock(t *testing.T) {
	c := committed(t)
	each(t, c, min(4096, len(c.stream)), func(i int) damaged { return cutAt(c.stream, i) })
}

func TestCutsAtTheEdgesOfBlocksLeaveEveryWholeBlock(t *testing.T) {
	c := committed(t)
	var places []int
	for _, p := range c.pieces {
		for _, at := range []int{p.at - 1, p.at, p.at + 1} {
			if at >= 0 {
				places = append(places, inAllWays(at)...)
			}
		}
	}
	each(t, c, len(places), func(i int) damaged { return cutAt(c.stream, places[i]) })
}

func TestRandomCutsLeaveEveryWholeBlock(t *testing.T) {
	c, rng := committed(t), seeded(t)
	places := make([]int, 2000)
	for i := range places {
		places[i] = rng.IntN(len(c.stream))
	}
	each(t, c, len(places), func(i int) damaged { return cutAt(c.stream, places[i]) })
}

func TestRandomFlipsCostTheirBlockOnly(t *testing.T) {
	c, rng := committed(t), seeded(t)
	places, bits := make([]int, 2000), make([]byte, 2000)
	for i := range places {
		places[i], bits[i] = rng.IntN(len(c.stream)), byte(1+rng.IntN(255))
	}
	each(t, c, len(places), func(i int) damaged { return flipAt(c.stream, places[i], bits[i]) })
}

// Each block in turn, in its header and in its payload, in all ways.
func TestFlipInEachBlockCostsThatBlockOnly(t *testing.T) {
	c := committed(t)
	var places []int
	for _, p := range c.pieces {
		for _, at := range []int{p.at + 30, p.at + p.size - 1} {
			places = append(places, inAllWays(at)...)
		}
	}
	each(t, c, len(places), func(i int) damaged { return flipAt(c.stream, places[i], 1) })
}
