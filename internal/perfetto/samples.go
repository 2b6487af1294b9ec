package perfetto

import (
	"slices"

	"wprof/format"
	"wprof/internal/stacks"
	"wprof/internal/tracks"
)

const (
	// samplesSequence is the first of the sequences of samples, one for each source: what triggers the samples
	// is a default of all packets of a sequence.
	samplesSequence = 2
	// maxSources bounds their number. Samples of further sources, and of unknown ones, share one sequence.
	maxSources = 16
	// A trace that is cut at its front shows stacks from the next reset on. It repeats what is interned, so it waits
	// until that is little of what has been written.
	samplesResetNs    = int64(10e9)
	samplesResetBytes = 4 << 20

	timebaseCPUClock = 1
	modeKernel       = 1
)

// samples are the sources of samples and what is interned on each one's sequence.
type samples struct {
	sources  map[uint64]*format.Source
	samplers map[uint64]*sampler
}

// sampler is one source.
type sampler struct {
	sequence  uint64
	described bool // name and period are those of this section
	name      []byte
	period    uint64 // ns; 1 where it is not known
	interned  interned
	taken     map[uint32]uint64 // by CPU, samples times period
	next      int64
	nextBytes int64
}

// newSection is called when ids change their meaning.
func (s *samples) newSection(sources []*format.Source) {
	s.sources = make(map[uint64]*format.Source, len(sources))
	for _, source := range slices.Backward(sources) { // the first one of an id counts
		s.sources[uint64(source.Id)] = source
	}
	delete(s.sources, 0)
	for _, one := range s.samplers {
		one.described, one.interned = false, interned{}
	}
}

// sampler returns the source with an id; 0 stands for all that no session describes.
func (s *samples) sampler(id uint64) *sampler {
	one := s.samplers[id]
	if one != nil && one.described {
		return one
	}
	source := s.sources[id]
	if id != 0 && (source == nil || one == nil && len(s.samplers) >= maxSources) {
		return s.sampler(0)
	}
	if one == nil {
		if s.samplers == nil {
			s.samplers = make(map[uint64]*sampler)
		}
		one = &sampler{sequence: samplesSequence + uint64(len(s.samplers)), taken: make(map[uint32]uint64)}
		s.samplers[id] = one
	}
	one.described, one.name, one.period = true, []byte("samples"), 1
	if source != nil {
		one.name, one.period = stacks.Clipped(stacks.Printable([]byte(source.Name), "samples")), uint64(max(source.Period, 1))
	}
	return one
}

// Sample implements [tracks.Encoder].
func (e *encoder) Sample(v *tracks.Sample) {
	if v.CPU >= maxCPUs || v.At < e.opened {
		return
	}
	c := e.cpu(v.CPU)
	k := e.task(v.Task, c)
	s := e.samples.sampler(v.Source)
	s.taken[v.CPU] = format.Sum(s.taken[v.CPU], s.period)
	if s.interned.memory > maxMemory/len(e.samples.samplers) {
		s.interned = interned{}
	}
	if s.reset(v.At, e.size()) {
		e.out = s.appendDefaults(e.out)
	}
	callstack, mode := uint64(0), uint64(0)
	if v.Stack != nil {
		callstack = e.callstack(s, v.Stack)
		if v.Stack.Kernel > 0 {
			mode = modeKernel
		}
	}
	e.out = s.appendSample(e.out, e.clock.boottime(v.At), v.CPU, k, callstack, mode)
	e.view.sample(k, v, int64(s.period))
}

// callstack returns a sequence's id of a stack, which it describes if it is new.
func (e *encoder) callstack(s *sampler, stack *tracks.Stack) uint64 {
	if known, found := s.interned.known(stack); found {
		return known
	}
	var packet, data int
	e.out, packet = begin(e.out, tracePacket)
	e.out = appendUint(e.out, packetSequence, s.sequence)
	e.out = appendUint(e.out, packetSequenceFlags, needsState)
	e.out, data = begin(e.out, packetInternedData)
	var number uint64
	e.out, number = s.interned.internStack(e.out, stack)
	end(e.out, data)
	end(e.out, packet)
	return number
}

// reset clears what was interned if a reset is due, and reports whether it did.
func (s *sampler) reset(t, written int64) bool {
	if s.interned.stacks != nil && (t < s.next || written < s.nextBytes) {
		return false
	}
	s.next, s.nextBytes = t+samplesResetNs, written+samplesResetBytes
	s.interned = newInterned()
	return true
}

// appendDefaults restarts the sequence and describes what triggers its samples.
func (s *sampler) appendDefaults(out []byte) []byte {
	out, packet := begin(out, tracePacket)
	out = appendUint(out, packetSequence, s.sequence)
	out = appendUint(out, packetSequenceFlags, stateCleared|needsState)
	out, defaults := begin(out, packetDefaults)
	out, perf := begin(out, 12)
	out, timebase := begin(out, 1)
	out = appendUint(out, 1, s.period)
	out = appendUint(out, 4, timebaseCPUClock)
	out = appendString(out, 10, s.name)
	end(out, timebase)
	end(out, perf)
	end(out, defaults)
	end(out, packet)
	return out
}

// appendSample appends one packet for each sample.
func (s *sampler) appendSample(out []byte, at uint64, cpu uint32, k *task, callstack, mode uint64) []byte {
	out, packet := beginShort(out, tracePacket)
	out = appendUint(out, packetTimestamp, at)
	out = appendUint(out, packetSequence, s.sequence)
	out = appendUint(out, packetSequenceFlags, needsState)
	out, body := beginShort(out, packetPerfSample)
	out = appendUint(out, 1, uint64(cpu))
	out = appendUint(out, 2, uint64(uint32(k.pid)))
	out = appendUint(out, 3, uint64(uint32(k.tid)))
	if callstack != 0 {
		out = appendUint(out, 4, callstack)
	}
	if mode != 0 {
		out = appendUint(out, 5, mode)
	}
	out = appendUint(out, 6, s.taken[cpu])
	endShort(out, body)
	endShort(out, packet)
	return out
}
