package capture

import (
	"encoding/binary"

	"wprof/internal/ringdata"
)

// countedRuns passes what counters of --pmu have counted from the thread that drains rings to the goroutine that compares it with conditions,
// which has time to find the names of threads.
type countedRuns struct {
	threads *threadTimes
	since   []int64        // by CPU: its last switch
	places  []countedPlace // by the thread's entry in threads
	batch   *countedBatch  // of this round
	ready   chan *countedBatch
	free    chan *countedBatch
}

// countedBatch has what was counted in a round, or in several where the goroutine was busy.
type countedBatch struct {
	number uint32
	at     int64 // time of the round, CLOCK_MONOTONIC ns
	runs   []countedRun
}

// countedRun is a time of a thread on a CPU, or the sum of several short ones in a batch.
type countedRun struct {
	tid      uint32
	names    identity
	from, to int64
	ran      int64 // ns
	known    uint8 // by counter
	counts   [ringdata.MaxCounters]uint64
}

// countedPlace is where the short times of a thread are added up: in which batch, and its index there.
type countedPlace struct{ batch, run uint32 }

const (
	// shortRun is the length below which a thread's times on CPUs are added up, ns.
	shortRun = 20e6
	// maxCountedRuns bounds a batch.
	maxCountedRuns = 1 << 16
	// countsPlace is the offset of struct rec_counts_part in an unpacked switch.
	countsPlace = ringdata.SwitchSize + ringdata.StacksSize + ringdata.WaitPartSize
)

func newCountedRuns(threads *threadTimes) *countedRuns {
	r := &countedRuns{
		threads: threads, places: make([]countedPlace, threadEntries), batch: &countedBatch{number: 1},
		ready: make(chan *countedBatch, 1), free: make(chan *countedBatch, 2),
	}
	r.free <- new(countedBatch)
	return r
}

// take takes an unpacked switch.
func (r *countedRuns) take(b []byte) {
	if len(b) < ringdata.SwitchSize || b[ringdata.HdrKind] != ringdata.KindSwitch {
		return
	}
	le := binary.LittleEndian
	at, cpu := int64(le.Uint64(b[ringdata.HdrTS:])), int(le.Uint16(b[ringdata.HdrCPU:]))
	for len(r.since) <= cpu {
		r.since = append(r.since, 0)
	}
	from := r.since[cpu]
	r.since[cpu] = at
	if from == 0 || from > at {
		from = at
	}
	tid := le.Uint32(b[ringdata.HdrTID:])
	if b[ringdata.HdrFlags]&ringdata.FlagParts == 0 || len(b) < countsPlace+ringdata.CountsPartSize || tid == 0 {
		return
	}
	if run := r.run(tid, from, at); run != nil {
		run.add(b[countsPlace:], at-from)
	}
}

// run returns where a time of a thread is added up; nil: there is no room.
func (r *countedRuns) run(tid uint32, from, to int64) *countedRun {
	entry, found := r.threads.find(tid)
	place, runs := &r.places[entry], r.batch.runs
	isShort := found && to-from < shortRun
	if isShort && place.batch == r.batch.number && runs[place.run].tid == tid {
		run := &runs[place.run]
		run.from, run.to = min(run.from, from), max(run.to, to)
		return run
	}
	if len(runs) >= maxCountedRuns {
		return nil
	}
	if isShort {
		*place = countedPlace{r.batch.number, uint32(len(runs))}
	}
	r.batch.runs = append(runs, countedRun{tid: tid, from: from, to: to})
	return &r.batch.runs[len(runs)]
}

// add adds a struct rec_counts_part.
func (r *countedRun) add(part []byte, ran int64) {
	r.ran += ran
	unknown := part[ringdata.CountsPartUnknown]
	for i, words := 0, part[ringdata.CountsPartValues:]; len(words) >= 8 && i < len(r.counts); i, words = i+1, words[8:] {
		if unknown>>i&1 == 0 {
			r.known |= 1 << i
			r.counts[i] += binary.LittleEndian.Uint64(words)
		}
	}
}

// endRound passes the batch on. If the goroutine is busy, the next round is added to it.
func (r *countedRuns) endRound(at int64) {
	r.batch.at = at
	for i := range r.batch.runs {
		run := &r.batch.runs[i]
		if entry, found := r.threads.find(run.tid); found {
			run.names = r.threads.entries[entry].names
		}
	}
	select {
	case next := <-r.free:
		number := r.batch.number
		r.ready <- r.batch // there is room, because there are two batches and one is here
		*next = countedBatch{number: number + 1, runs: next.runs[:0]}
		r.batch = next
	default:
	}
}
