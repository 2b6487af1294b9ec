package info

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"wprof/format"
)

// Summary is what a capture says about itself.
type Summary struct {
	Bytes      int64
	Recordings []Recording
	Damage     []string // what is missing
}

// Recording is one session: a section, or several that are its epochs.
type Recording struct {
	Session   *format.Session // of its first epoch
	Epochs    int
	Close     int64 // when its window closed, as far as that is known
	Events    uint64
	Raw       uint64
	Stored    uint64
	Late      uint64
	Defined   uint64
	Kinds     []*format.KindCount
	Processes []*format.ProcessTime
	Losses    []*format.Loss
	Cost      *format.RecorderCost
	Clocks    []*format.ClockSnapshot
	Cut       bool     // an end block is missing, and with it counts
	Sampled   *Sampled // nil: no samples were looked at
	Waits     *Waits   // nil: there are no stacks but those of samples, as far as was looked
}

// Summarize reads a regular file's index and end blocks, and any other input from its beginning to its end.
func Summarize(r io.Reader) (*Summary, error) {
	if f, ok := r.(*os.File); ok {
		info, err := f.Stat()
		if err != nil {
			return nil, fmt.Errorf("look at the input: %w", err)
		}
		if info.Mode().IsRegular() {
			sections, err := format.ReadSummary(f, info.Size())
			if err != nil {
				return nil, err
			}
			if len(sections) == 0 {
				return fromPipe(f) // which says what stands there instead
			}
			s, err := summary(info.Size(), sections, nil)
			if err == nil && s.stacks() {
				s.join(look(f, time.Now().Add(lookTime)))
			}
			return s, err
		}
	}
	return fromPipe(r)
}

// stacks tells whether there may be any.
func (s *Summary) stacks() bool {
	return slices.ContainsFunc(s.Recordings, func(r Recording) bool { return r.Cut || r.samples() > 0 || r.tellsWaits() })
}

// tellsWaits tells whether stacks of threads that wait, or of wakers, were asked for.
func (r *Recording) tellsWaits() bool {
	return slices.ContainsFunc(r.Session.GetConfig(), func(kv *format.KeyValue) bool {
		return kv.Key == format.ConfigOffCPUStacks || kv.Key == format.ConfigWakerStacks
	})
}

// samples is how many samples there are, as far as end blocks tell.
func (r *Recording) samples() uint64 {
	for _, k := range r.Kinds {
		if format.Kind(k.Kind) == format.KindSample {
			return k.Events
		}
	}
	return 0
}

// join gives each recording what its samples told.
func (s *Summary) join(looked []*Sampled) {
	for i := range s.Recordings {
		r := &s.Recordings[i]
		at := slices.IndexFunc(looked, func(l *Sampled) bool { return l.Session.Id == r.Session.Id })
		if at < 0 {
			continue
		}
		if looked[at].Samples > 0 {
			r.Sampled = looked[at]
		}
		if looked[at].Waits.any() {
			r.Waits = &looked[at].Waits
		}
		looked = looked[at+1:]
	}
}

// fromPipe goes through all blocks.
func fromPipe(r io.Reader) (*Summary, error) {
	var sections []format.SectionSummary
	var damage []string
	r, looked := lookAside(r)
	defer looked()
	blocks := format.NewBlockReader(r)
	number := uint32(0)
	total := int64(0)
	for {
		b, err := blocks.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if b.Skipped > 0 {
			damage = append(damage, b.Problem)
		}
		total = b.Offset + int64(format.BlockHeaderSize+len(b.Stored))
		if len(sections) == 0 || b.Header.Type == format.BlockHeaderType || b.Header.Section != number {
			sections = append(sections, format.SectionSummary{Offset: b.Offset, Index: &format.Index{}, Rebuilt: true})
			number = b.Header.Section
		}
		if err := visit(&sections[len(sections)-1], b); errors.Is(err, format.ErrNewer) {
			return nil, err
		} else if err != nil {
			damage = append(damage, fmt.Sprintf("at byte %d: %v", b.Offset, err))
		}
	}
	trailing, problem := blocks.Trailing()
	if len(sections) == 0 {
		return nil, fmt.Errorf("%w: %s", format.ErrNotStream, cmp.Or(problem, "the input is empty"))
	}
	if trailing > 0 {
		damage = append(damage, problem)
	}
	s, err := summary(total+trailing, sections, damage)
	if err != nil {
		return nil, err
	}
	s.join(looked())
	return s, nil
}

// visit takes one block into a section's summary. Of event blocks only the number of events is kept.
func visit(s *format.SectionSummary, b *format.Block) (err error) {
	switch b.Header.Type {
	case format.BlockHeaderType:
		s.Version, s.Session, err = format.ParseHeaderPayload(b.Payload)
	case format.BlockEnd:
		s.End, _, err = format.ParseEndPayload(b.Payload)
	case format.BlockEvents:
		if len(s.Index.Blocks) == 0 {
			s.Index.Blocks = []*format.IndexEntry{{Type: uint32(format.BlockEvents)}}
		}
		s.Index.Blocks[0].Events += b.Header.Events
	}
	return err
}

// summary puts epochs together. What every other tool refuses has no summary either: recordings that share no timeline.
func summary(bytes int64, sections []format.SectionSummary, damage []string) (*Summary, error) {
	if err := format.CheckTimeline(sections); err != nil {
		return nil, err
	}
	s := &Summary{Bytes: bytes, Damage: damage}
	for i := range sections {
		section := &sections[i]
		var next *format.SectionSummary
		if i+1 < len(sections) {
			next = &sections[i+1]
		}
		if section.LacksEpoch(next) {
			s.Damage = append(s.Damage, fmt.Sprintf("the section at byte %d is not the last of its recording, and none follows", section.Offset))
		}
		if section.Problem != "" {
			s.Damage = append(s.Damage, section.Problem)
		}
		if section.Session == nil {
			s.Damage = append(s.Damage, fmt.Sprintf("at byte %d: the header of a section is missing", section.Offset))
			section.Session = &format.Session{}
		}
		if section.End == nil {
			s.Damage = append(s.Damage, fmt.Sprintf("the section at byte %d has no end block: it was cut", section.Offset))
		}
		last := len(s.Recordings) - 1
		if last < 0 || !section.Session.Continues || s.Recordings[last].Session.Id != section.Session.Id {
			s.Recordings = append(s.Recordings, Recording{Session: section.Session})
			last++
		}
		s.Recordings[last].add(section)
	}
	for i := range s.Recordings {
		s.Recordings[i].sort()
	}
	return s, nil
}

// add takes an epoch in. Where it has no end block, its event blocks at least tell how many events there are.
func (r *Recording) add(s *format.SectionSummary) {
	r.Epochs++
	r.Close = max(r.Close, s.Session.Close)
	r.Clocks = append(r.Clocks, s.Session.Clocks...)
	if s.End == nil {
		r.Cut = true
		for _, b := range s.Index.GetBlocks() {
			if b.Type == uint32(format.BlockEvents) {
				r.Events += uint64(b.Events)
			}
		}
		return
	}
	r.Close = max(r.Close, s.End.Close)
	r.Clocks = append(r.Clocks, s.End.Clocks...)
	r.Raw += s.End.RawBytes
	r.Stored += s.End.StoredBytes
	r.Late += s.End.Late
	r.Defined += s.End.Definitions
	for _, k := range s.End.Kinds {
		r.Events += k.Events
		r.addKind(k)
	}
	for _, p := range s.End.Processes {
		r.addProcess(p)
	}
	for _, l := range s.End.Losses {
		r.addLoss(l)
	}
	if s.End.Cost != nil {
		r.Cost = s.End.Cost // the recorder counts from its start, so the last epoch has the sum
	}
}

func (r *Recording) addKind(k *format.KindCount) {
	for _, have := range r.Kinds {
		if have.Kind == k.Kind {
			have.Events += k.Events
			have.Bytes += k.Bytes
			return
		}
	}
	r.Kinds = append(r.Kinds, k)
}

func (r *Recording) addLoss(l *format.Loss) {
	for _, have := range r.Losses {
		if have.Cpu == l.Cpu && have.Kind == l.Kind && have.Cause == l.Cause {
			have.Count += l.Count
			return
		}
	}
	r.Losses = append(r.Losses, l)
}

func (r *Recording) addProcess(p *format.ProcessTime) { r.Processes = append(r.Processes, p) }

// sort brings what matters most to the front, and adds up what the epochs tell of one process.
func (r *Recording) sort() {
	byKey := func(a, b *format.ProcessTime) int {
		return cmp.Or(cmp.Compare(a.Pid, b.Pid), cmp.Compare(a.Start, b.Start))
	}
	slices.SortStableFunc(r.Processes, byKey)
	var sums []*format.ProcessTime
	for _, p := range r.Processes {
		if n := len(sums); n > 0 && byKey(sums[n-1], p) == 0 {
			sums[n-1].Ns += p.Ns
			sums[n-1].Comm = p.Comm
			continue
		}
		sums = append(sums, p)
	}
	r.Processes = sums
	slices.SortStableFunc(r.Processes, func(a, b *format.ProcessTime) int { return cmp.Compare(b.Ns, a.Ns) })
	slices.SortStableFunc(r.Kinds, func(a, b *format.KindCount) int { return cmp.Compare(b.Events, a.Events) })
	slices.SortStableFunc(r.Losses, func(a, b *format.Loss) int { return cmp.Compare(b.Count, a.Count) })
}
