//go:build linux

package damage

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wprof/test/tools"
)

// cutAt is the stream up to a byte.
func cutAt(stream []byte, at int) damaged {
	what := fmt.Sprintf("cut at byte %d of %d", at, len(stream))
	return damaged{what: what, stream: stream[:at], from: at, to: len(stream) + 1}
}

// flipAt is the stream with one byte changed.
func flipAt(stream []byte, at int, bits byte) damaged {
	return damaged{what: fmt.Sprintf("byte %d changed by %#02x", at, bits), from: at, to: at + 1}.flipped(stream, bits)
}

func (d damaged) flipped(stream []byte, bits byte) damaged {
	d.stream = bytes.Clone(stream)
	d.stream[d.from] ^= bits
	return d
}

// workers is how many damaged files are put through a tool at a time.
const workers = 3

// realEvery is how many runs of tools there are to one that has a process of its own. The others share processes: see
// [tools.Serve].
const realEvery = 25

// share calls do with each number below count, several at a time, with the name of a file for it alone, until ten have
// failed.
func share(t *testing.T, workers, count int, extension string, do func(i int, name string) (failures int)) {
	t.Helper()
	dir := t.TempDir()
	var next, failures atomic.Int64
	var wait sync.WaitGroup
	for worker := range workers {
		wait.Go(func() {
			name := filepath.Join(dir, fmt.Sprint(worker, extension))
			for failures.Load() < 10 {
				i := int(next.Add(1) - 1)
				if i >= count {
					return
				}
				failures.Add(int64(do(i, name)))
			}
		})
	}
	wait.Wait()
}

// each puts damages through tools: through every one, from a file and through a pipe in turn, if everyTool, else through one
// of them in turn. In the soak, all go through all. A damaged stream is made when its turn comes.
func each(t *testing.T, c *captured, count int, everyTool bool, make func(i int) damaged) {
	t.Helper()
	all, begin := variants(), time.Now()
	var runs atomic.Int64
	share(t, workers, count, ".wprof", func(i int, name string) (failures int) {
		d := make(i)
		r := expect(c.pieces, &d)
		for k := range all {
			inTurn := k == i%len(all)
			if everyTool {
				inTurn = !all[k].hasTwin() || all[k].pipe == ((i+i/2)%2 != 0) // also for every other place
			}
			if !inTurn && !everyVariant() {
				continue
			}
			try := tools.Serve
			if runs.Add(1)%realEvery == 0 {
				try = tools.Try
			}
			got := all[k].run(t, try, name, d.stream)
			if wrong := all[k].problem(c, &d, &r, &got); wrong != "" {
				failures++
				t.Errorf("%s: %s: %s", d.what, &all[k], wrong)
			}
		}
		return failures
	})
	t.Logf("soak: %s: %d places, %d runs of tools in %v", t.Name(), count, runs.Load(), time.Since(begin).Round(time.Second))
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
	r := expected{whole: c.pieces}
	all := variants()
	for i := range all {
		got := all[i].run(t, tools.Try, filepath.Join(t.TempDir(), "intact.wprof"), c.stream)
		if wrong := all[i].problem(c, &damaged{}, &r, &got); wrong != "" {
			t.Errorf("%s: %s", &all[i], wrong)
		}
	}
}

const (
	// somePayload is how many bytes of payloads damage hits outside the soak.
	somePayload = 150
	// headerTurns is how many blocks share the bytes of one header outside the soak.
	headerTurns = 8
)

// places are the bytes where damage is tried: all in the soak, otherwise some of the payloads, and every byte of a header, in
// eight blocks in turn.
func places(c *captured, rng *rand.Rand) []int {
	var headers, payload []int
	for i, p := range c.pieces {
		for at := p.at; at < p.at+p.size; at++ {
			switch {
			case at >= p.at+headerBytes:
				payload = append(payload, at)
			case everyVariant() || (at-p.at)%headerTurns == i%headerTurns:
				headers = append(headers, at)
			}
		}
	}
	if !everyVariant() {
		rng.Shuffle(len(payload), func(i, j int) { payload[i], payload[j] = payload[j], payload[i] })
		payload = payload[:somePayload]
	}
	all := append(headers, payload...)
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] }) // the bytes of a header meet different tools
	return all
}

func TestCutsLeaveEveryWholeBlock(t *testing.T) {
	c := committed(t)
	places := places(c, seeded(t))
	each(t, c, len(places), false, func(i int) damaged { return cutAt(c.stream, places[i]) })
}

// edges are the edges of all blocks, the byte before and the byte after each.
func edges(c *captured) (places []int) {
	for _, p := range c.pieces {
		for _, at := range []int{p.at - 1, p.at, p.at + 1} {
			if at >= 0 {
				places = append(places, at)
			}
		}
	}
	return append(places, len(c.stream)-1)
}

func TestCutsAtTheEdgesOfBlocksLeaveEveryWholeBlock(t *testing.T) {
	c := committed(t)
	places := edges(c)
	each(t, c, len(places), true, func(i int) damaged { return cutAt(c.stream, places[i]) })
}

func TestFlipsCostTheirBlockOnly(t *testing.T) {
	c, rng := committed(t), seeded(t)
	places := places(c, rng)
	bits := make([]byte, len(places))
	for i := range bits {
		bits[i] = byte(1 + rng.IntN(255))
	}
	each(t, c, len(places), false, func(i int) damaged { return flipAt(c.stream, places[i], bits[i]) })
}

// Each block in turn, in its header and in its payload.
func TestFlipInEachBlockCostsThatBlockOnly(t *testing.T) {
	c := committed(t)
	var places []int
	for _, p := range c.pieces {
		places = append(places, p.at+30, p.at+p.size-1)
	}
	each(t, c, len(places), true, func(i int) damaged { return flipAt(c.stream, places[i], 1) })
}

// join is a stream of the given pieces of another one.
func join(stream []byte, pieces []piece) []byte {
	var all []byte
	for _, p := range pieces {
		all = append(all, stream[p.at:p.at+p.size]...)
	}
	return all
}

// Where an end block and the header after it are both gone, what follows must not be taken for what it is not.
func TestZeroedNeighboursCostThemselvesOnly(t *testing.T) {
	c := committed(t)
	each(t, c, len(c.pieces)-1, false, func(i int) damaged {
		from, to := c.pieces[i].at, c.pieces[i+1].at+c.pieces[i+1].size
		stream := bytes.Clone(c.stream)
		clear(stream[from:to])
		return damaged{what: fmt.Sprintf("bytes %d to %d zeroed", from, to), stream: stream, from: from, to: to}
	})
}

func TestZeroedPagesCostWhatTheyHitOnly(t *testing.T) {
	const page = 4096
	c := committed(t)
	each(t, c, len(c.stream)/page+1, false, func(i int) damaged {
		from, to := i*page, min(len(c.stream), (i+1)*page)
		stream := bytes.Clone(c.stream)
		clear(stream[from:to])
		return damaged{what: fmt.Sprintf("bytes %d to %d zeroed", from, to), stream: stream, from: from, to: to}
	})
}

func TestRemovedBlocksCostThemselvesOnly(t *testing.T) {
	c := committed(t)
	each(t, c, len(c.pieces), false, func(i int) damaged {
		left := slices.Delete(slices.Clone(c.pieces), i, i+1)
		return damaged{what: fmt.Sprintf("block %d removed", i), stream: join(c.stream, left), moved: true, kept: left}
	})
}

func TestRepeatedBlocksCostNothing(t *testing.T) {
	c := committed(t)
	each(t, c, len(c.pieces), false, func(i int) damaged {
		all := slices.Insert(slices.Clone(c.pieces), i, c.pieces[i])
		return damaged{what: fmt.Sprintf("block %d repeated", i), stream: join(c.stream, all), moved: true, kept: c.pieces}
	})
}

// Of two event blocks in the wrong order, the first one cannot be delivered any more.
func TestSwappedBlocksCostNoMoreThanOne(t *testing.T) {
	c := committed(t)
	each(t, c, len(c.pieces)-1, false, func(i int) damaged {
		all, kept := slices.Clone(c.pieces), slices.Clone(c.pieces)
		all[i], all[i+1] = all[i+1], all[i]
		if len(all[i].events) > 0 && len(all[i+1].events) > 0 {
			kept = slices.Delete(kept, i, i+1)
		}
		return damaged{what: fmt.Sprintf("blocks %d and %d swapped", i, i+1), stream: join(c.stream, all), moved: true, kept: kept}
	})
}
