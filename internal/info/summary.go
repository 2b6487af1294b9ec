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

// Summary describes a capture.
type Summary struct {
	Bytes      int64
	Recordings []Recording
	Damage     []string // what is missing
}

// Recording is one session: a section, or several that are its epochs.
type Recording struct {
	Session   *format.Session // of its first epoch
	Epochs    int
	Stretches []Stretch // of its window that the capture holds, which epochs do not interrupt
	Close     int64     // when its window closed, as far as known
	Events    uint64
	Raw       uint64
	Stored    uint64
	Late      uint64
	Defined   uint64
	Kinds     []*format.KindCount
	Types     []*format.TypeCount   // of typed events, the most frequent, at most format.MaxTypeCounts
	Processes []*format.ProcessTime // those with the most time, at most format.MaxProcesses
	Others    int                   // number of further processes, with less time
	Losses    []*format.Loss
	losses    format.LossCounts
	Cost      *format.RecorderCost
	Clocks    []*format.ClockSnapshot
	Cut       bool         // an end block is missing, and with it counts
	Sampled   *Sampled     // nil: no samples were read
	Counts    *Counts      // nil: no counters were read
	Waits     *Waits       // nil: no stacks except those of samples were found
	Threads   *ThreadTimes // nil: the events that were read do not show what threads did

	types  format.TypeCounts
	labels labels
}

// Stretch is a part of a window.
type Stretch struct {
	From, To int64 // CLOCK_MONOTONIC ns; To is 0 as long as it is not known
}

// addStretch adds the part of the window that an epoch has. The next epoch continues it unless a filter left out what is between.
func (r *Recording) addStretch(s *format.Session, closes int64) {
	from, to := s.WindowStart(), s.WindowEndOr(closes)
	if n := len(r.Stretches); n > 0 && s.Continues {
		r.Stretches[n-1].To = max(r.Stretches[n-1].To, to)
		return
	}
	r.Stretches = append(r.Stretches, Stretch{from, max(from, to)})
}

// Summarize reads a regular file's index and end blocks, and any other input from its beginning to its end.
func Summarize(r io.Reader) (*Summary, error) {
	if f, ok := r.(*os.File); ok {
		info, err := f.Stat()
		if err != nil {
			return nil, fmt.Errorf("read the input: %w", err)
		}
		if info.Mode().IsRegular() {
			sections, err := format.ReadSummary(f, info.Size())
			if err != nil {
				return nil, err
			}
			if len(sections) == 0 {
				return fromPipe(f) // which reports what is there instead
			}
			var e epochs
			for i := range sections {
				if err := e.add(&sections[i]); err != nil {
					return nil, err
				}
			}
			s := e.summary(info.Size(), nil)
			s.join(readEvents(f, time.Now().Add(readTime)))
			return s, nil
		}
	}
	return fromPipe(r)
}

// join adds the statistics of events to each recording.
func (s *Summary) join(samples []*Sampled) {
	for i := range s.Recordings {
		r := &s.Recordings[i]
		at := slices.IndexFunc(samples, func(l *Sampled) bool { return l.Session.Id == r.Session.Id })
		if at < 0 {
			continue
		}
		if samples[at].Samples > 0 {
			r.Sampled = samples[at]
		}
		if samples[at].Waits.any() {
			r.Waits = &samples[at].Waits
		}
		if samples[at].Threads.any() {
			r.Threads = &samples[at].Threads
		}
		if len(samples[at].Counts.ByProcess) > 0 {
			r.Counts, samples[at].Counts.all = &samples[at].Counts, samples[at].All
		}
		r.labels = samples[at].labels
		samples = samples[at+1:]
	}
}

// fromPipe reads all blocks of an input that cannot be searched.
func fromPipe(r io.Reader) (*Summary, error) {
	var done epochs
	var section *format.SectionSummary // of the current block
	var damage []string
	r, samples := readEventsBeside(r)
	defer samples()
	blocks := format.NewBlockReader(r)
	var order format.BlockOrder
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
		begins, problem := order.Next(&b.Header)
		if begins {
			if err := done.add(section); err != nil {
				return nil, err
			}
			section = &format.SectionSummary{Offset: b.Offset, Index: &format.Index{}, Rebuilt: true}
		}
		if err := visit(section, b); errors.Is(err, format.ErrNewer) {
			return nil, err
		} else if err != nil {
			problem = err.Error()
		}
		if b.Header.Type == format.BlockEnd && section.End != nil {
			problem = cmp.Or(problem, order.CountProblem(section.End))
		}
		if problem != "" {
			damage = append(damage, fmt.Sprintf("at byte %d: %s", b.Offset, problem))
		}
	}
	trailing, problem := blocks.Trailing()
	if section == nil {
		return nil, fmt.Errorf("%w: %s", format.ErrNotStream, cmp.Or(problem, "the input is empty"))
	}
	if trailing > 0 {
		damage = append(damage, problem)
	}
	if err := done.add(section); err != nil {
		return nil, err
	}
	s := done.summary(total+trailing, damage)
	s.join(samples())
	return s, nil
}

// visit adds one block to a section's summary. Of event blocks it keeps only the number of events.
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

// add adds an epoch. Of one without an end block it adds only the number of events, from its event blocks.
func (r *Recording) add(session *format.Session, s *format.SectionSummary) {
	r.Epochs++
	r.Close = max(r.Close, session.Close)
	r.addStretch(session, s.End.GetClose())
	r.Clocks = append(r.Clocks, session.Clocks...)
	if s.End == nil {
		r.Cut = true
		for _, b := range s.Index.GetBlocks() {
			if b.Type == uint32(format.BlockEvents) {
				r.Events = format.Sum(r.Events, uint64(b.Events))
			}
		}
		return
	}
	r.Close = max(r.Close, s.End.Close)
	r.Clocks = append(r.Clocks, s.End.Clocks...)
	r.Raw = format.Sum(r.Raw, s.End.RawBytes)
	r.Stored = format.Sum(r.Stored, s.End.StoredBytes)
	r.Late = format.Sum(r.Late, s.End.Late)
	r.Defined = format.Sum(r.Defined, s.End.Definitions)
	for _, k := range s.End.Kinds {
		r.Events = format.Sum(r.Events, k.Events)
		r.addKind(k)
	}
	if r.types == nil {
		r.types = format.TypeCounts{}
	}
	r.types.Add(s.End.Types)
	r.addProcesses(s.End.Processes)
	r.losses.AddAll(s.End.Losses)
	if s.End.Cost != nil {
		r.Cost = s.End.Cost // the recorder counts from its start, so the last epoch has the sum
	}
}

func (r *Recording) addKind(k *format.KindCount) {
	for _, have := range r.Kinds {
		if have.Kind == k.Kind {
			have.Events = format.Sum(have.Events, k.Events)
			have.Bytes = format.Sum(have.Bytes, k.Bytes)
			return
		}
	}
	r.Kinds = append(r.Kinds, k)
}

// sort puts the largest counts first.
func (r *Recording) sort() {
	r.sumProcesses()
	r.Types = r.types.List()
	slices.SortStableFunc(r.Kinds, func(a, b *format.KindCount) int { return cmp.Compare(b.Events, a.Events) })
	r.Losses = r.losses.List()
	slices.SortStableFunc(r.Losses, func(a, b *format.Loss) int { return cmp.Compare(b.Count, a.Count) })
}
