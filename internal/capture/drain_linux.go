package capture

import (
	"wprof/bpf"
	"wprof/internal/proc"
	"wprof/internal/spool"
)

// ring is one ring buffer of the kernel; *bpf.Ring in a recording.
type ring interface {
	// Producer and Consumer are positions in bytes since the ring was made.
	Producer() uint64
	Consumer() uint64
	// Committed returns the records from the consumer position up to limit, the first record that is still being written, or
	// the end of a contiguous part of the ring, whichever comes first.
	Committed(limit uint64) (run []byte, from uint64)
	Consume(n int)
}

// sink receives the contents of the rings; *spool.Writer in a recording.
type sink interface {
	Ring(ring int, from uint64, run []byte) error
	Sideband(records []byte) error
	Round(spool.Round) error
}

// drainer moves what the kernel programs have written to the spool, in rounds. It does not read records and allocates
// nothing, because it works while the window is open.
type drainer struct {
	rings    []ring
	sink     sink
	capacity float64 // bytes of one ring
	limits   []uint64
	drained  []uint64
	read     []uint64 // bytes taken from each ring so far
	// side appends the side-band records up to the call; nil: not needed.
	side    func([]byte) []byte
	records []byte
	full    bool // a ring may have been full since wasFull was called
	// pump fills rings that are not the kernel's before their positions are read; nil: there are none.
	pump func()
	// last is the latest time that a round may have; 0: no limit.
	last int64
}

func newDrainer(rings []ring, ringBytes int, sink sink) *drainer {
	return &drainer{
		rings: rings, sink: sink, capacity: float64(ringBytes),
		limits: make([]uint64, len(rings)), drained: make([]uint64, len(rings)), read: make([]uint64, len(rings)),
	}
}

// Round drains all rings once. It reads the clock before the producer positions, so that no record beyond these positions is
// older than the time of the round. It returns how full the fullest ring was, and whether everything up to the positions was moved: a
// record that is still being written holds back its ring.
func (d *drainer) Round() (fill float64, all bool, err error) {
	round := spool.Round{Time: d.time(), Producer: d.limits, Drained: d.drained}
	if d.pump != nil {
		d.pump()
	}
	for i, r := range d.rings {
		d.limits[i] = r.Producer()
	}
	all = true
	for i, r := range d.rings {
		fill = max(fill, float64(d.limits[i]-r.Consumer())/d.capacity)
		if err := d.drainRing(i, r); err != nil {
			return fill, false, err
		}
		all = all && d.drained[i] == d.limits[i]
	}
	if err := d.drainSide(); err != nil {
		return fill, false, err
	}
	if err := d.sink.Round(round); err != nil {
		return fill, all, err
	}
	return fill, all, nil
}

func (d *drainer) drainRing(i int, r ring) error {
	for {
		run, from := r.Committed(d.limits[i])
		d.drained[i] = from + uint64(len(run))
		// Before Consume makes room.
		d.full = d.full || float64(r.Producer()-from) > d.capacity-fullMargin
		if len(run) == 0 {
			return nil
		}
		if err := d.sink.Ring(i, from, run); err != nil {
			return err
		}
		r.Consume(len(run))
		d.read[i] += uint64(len(run))
		if d.drained[i] == d.limits[i] {
			return nil
		}
	}
}

// fullMargin is larger than the longest record: with less room than that, a record may have been lost.
const fullMargin = 24 << 10

// wasFull reports whether a ring may have been full since the last call.
func (d *drainer) wasFull() bool {
	full := d.full
	d.full = false
	return full
}

// closed sets the time at which the window has closed. A recording that is cut off ends with
// its last round, whose time must not be after the window.
func (d *drainer) closed(at int64) { d.last = at }

// time is the time of a round that begins now: later than that of any before it.
func (d *drainer) time() int64 {
	now := proc.Monotonic() - bpf.WatermarkSlackNs
	if d.last == 0 || now < d.last {
		return now
	}
	now = d.last
	d.last++
	return now
}

// drainSide moves the side-band. It comes after the rings: the side-band records that a record of the round needs were reported
// before that record was written.
func (d *drainer) drainSide() error {
	if d.side == nil {
		return nil
	}
	if d.records = d.side(d.records[:0]); len(d.records) == 0 {
		return nil
	}
	return d.sink.Sideband(d.records)
}
