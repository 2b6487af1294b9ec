package format

import "math"

// step is what encoder and decoder do for one field of a kind.
type step struct {
	typ  FieldType
	arg  uint8
	at   Base   // for FieldTime
	opt  Flags  // 0: always
	most uint64 // highest value in this version
}

// layout is a kind's record as a list of steps.
type layout struct {
	flags   Flags // those of this version; 0: unknown kind
	steps   []step
	times   []step // the steps of times, which have a column of their own
	numbers []step // the other steps
}

// leftTable has, within a block, the times at which threads left a CPU. The switch at which a returning thread left is most
// often in the same block, so its since is stored as 0 instead of a number with two bytes of jitter (measured on the
// ping-pong of the benchmarks: 2.9 stored bytes an event instead of 3.9). It is direct-mapped: if
// another thread is in the slot, the base is a worse one, but the same in encoder and decoder.
type leftTable [1 << 10]int64

// base returns the time from which the since of a thread that takes over a CPU is stored as a distance.
func (t *leftTable) base(thread uint64, event int64) int64 {
	if at := t[thread%uint64(len(t))]; at != 0 {
		return at
	}
	return event
}

func (t *leftTable) leave(thread TaskID, at int64) { t[thread%TaskID(len(t))] = at }

// layouts are indexed by kind. Every Reader and Writer builds its own from the table.
type layouts [MaxKind + 1]layout

func newLayouts() *layouts {
	all := new(layouts)
	for _, k := range Kinds() {
		l := layout{flags: FlagSubject | FlagObject | FlagOpen | FlagLate}
		for i, f := range k.Fields {
			l.flags |= f.Opt
			s := step{f.Type, uint8(i), f.Base, f.Opt, mostOf(f.Type)}
			l.steps = append(l.steps, s)
			if f.Type == FieldTime {
				l.times = append(l.times, s)
			} else {
				l.numbers = append(l.numbers, s)
			}
		}
		for _, f := range k.Flags {
			l.flags |= f.Bit
		}
		all[k.Kind] = l
	}
	return all
}

func mostOf(t FieldType) uint64 {
	switch t {
	case FieldTask, FieldStack, FieldEventType, FieldWait:
		return math.MaxUint32
	case FieldState:
		return uint64(KnownStates()) // all bits up to the highest one
	case FieldCause:
		return uint64(maxCause)
	case FieldKind:
		return uint64(MaxKind)
	}
	return math.MaxUint64
}
