// Package textform writes a stream as text, and converts text to a stream, valid or not: docs/text-form.md describes it.
package textform

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"

	"wprof/format"
	"wprof/format/internal/raw"
	"wprof/format/internal/spell"
)

// ErrDamaged is wrapped by the error that [Dump] returns after it has written all whole parts.
var ErrDamaged = errors.New("the stream is damaged")

// Dump writes the stream as text (docs/text-form.md), which [Undump] converts back to a stream with the same blocks.
// Damage is reported in a comment; the rest is written, and the error then wraps [ErrDamaged].
func Dump(w io.Writer, r io.Reader) error {
	d := &dumper{out: bufio.NewWriterSize(w, 64<<10), now: math.MinInt64}
	d.voc = newVocabulary(&d.tally.Types)
	blocks := format.NewBlockReader(r)
	for {
		block, err := blocks.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = d.block(block)
		}
		if err != nil {
			return errors.Join(err, d.out.Flush())
		}
	}
	if d.blocks == 0 {
		return blocks.NotStream()
	}
	return d.finish(blocks.Trailing())
}

// blockPlace is a block's section and number in it.
type blockPlace struct{ section, sequence uint32 }

// dumper converts blocks to lines. From block to block it keeps only the counts of one section.
type dumper struct {
	voc       *vocabulary
	out       *bufio.Writer
	line      []byte
	tally     raw.Tally
	assumed   blockPlace // of the next block, if nothing is missing
	implied   blockPlace // what undump would give it
	blocks    int
	inside    bool   // a section has begun and not ended
	continued bool   // an epoch of session is to follow
	session   uint64 // that was read last
	now       int64  // time of the last event
	damages   int
	err       error // of out
}

func (d *dumper) finish(trailing int64, problem string) error {
	if trailing > 0 {
		d.damage("the last %d bytes belong to no whole block (%s)", trailing, problem)
	}
	if d.inside {
		d.damage("the stream stops before the end block of its last section")
	} else if d.continued {
		d.damage(format.NoLastEpoch)
	}
	if err := d.out.Flush(); err != nil {
		return fmt.Errorf("write the text form: %w", err)
	}
	if d.damages > 0 {
		return fmt.Errorf("%w in %d places; comments in the text say where", ErrDamaged, d.damages)
	}
	return nil
}

// damage writes a comment about damage.
func (d *dumper) damage(format string, args ...any) {
	d.damages++
	d.write(fmt.Appendf(nil, "# damage: "+format+"\n", args...))
}

func (d *dumper) write(b []byte) {
	if _, err := d.out.Write(b); err != nil && d.err == nil {
		d.err = fmt.Errorf("write the text form: %w", err)
	}
}

// block writes one block: a line for it and one for each of its parts. One whose payload does not match its type
// is written as bytes.
func (d *dumper) block(block *format.Block) error {
	d.blocks++
	h := &block.Header
	if block.Skipped > 0 {
		d.damage("%d bytes before byte %d belong to no whole block (%s)", block.Skipped, block.Offset, block.Problem)
	}
	if h.Type != format.BlockHeaderType {
		d.expect(block)
	}
	var err error
	switch h.Type {
	case format.BlockHeaderType:
		err = d.header(block)
	case format.BlockDefinitions:
		err = d.definitions(block)
	case format.BlockEvents:
		err = d.events(block)
	case format.BlockIndex:
		err = d.index(block)
	case format.BlockEnd:
		err = d.end(block)
	default:
		d.opaque(block)
	}
	if errors.Is(err, format.ErrNewer) {
		return err
	}
	if err != nil {
		d.damage("at byte %d: %v", block.Offset, err)
		d.opaque(block)
	}
	d.assumed.sequence, d.implied.sequence = h.Sequence+1, h.Sequence+1
	return d.err
}

// expect reports a block that is not the next one of the section.
func (d *dumper) expect(block *format.Block) {
	h := &block.Header
	switch {
	case h.Section != d.assumed.section || d.blocks == 1:
		d.damage("at byte %d: the header of section %d is missing", block.Offset, h.Section)
		d.orphan(h)
	case !d.inside:
		d.damage("at byte %d: a block stands after the end of its section", block.Offset)
		d.orphan(h)
	case h.Sequence != d.assumed.sequence:
		d.damage("at byte %d: block %d of the section stands here, not block %d", block.Offset, h.Sequence, d.assumed.sequence)
	}
}

// orphan begins a section whose header is missing.
func (d *dumper) orphan(h *format.BlockHeader) {
	d.assumed, d.inside, d.continued = blockPlace{section: h.Section}, true, false
	d.tally = raw.Tally{}
}

// blockLine writes the first line of a block: its word, then the header fields that undump could not infer.
func (d *dumper) blockLine(word string, b *draft, block *format.Block) {
	b.flags = block.Header.Flags & (format.BlockZstd | format.BlockState)
	right := b.header(d.implied, block.Payload, block.Stored)
	line := append(d.line[:0], word...)
	if b.flags&format.BlockZstd != 0 {
		line = append(line, " zstd"...)
	}
	if b.flags&format.BlockState != 0 {
		line = append(line, " state"...)
	}
	for _, f := range headerFields() {
		v := f.get(&block.Header)
		if v == f.get(&right) {
			continue
		}
		line = append(append(append(line, " @"...), f.name...), '=')
		switch {
		case f.time:
			line = spell.AppendTime(line, int64(v), d.voc.Open)
		case f.name == "flags" || f.name == "crc":
			line = fmt.Appendf(line, "%#x", v)
		default:
			line = strconv.AppendUint(line, v, 10)
		}
	}
	d.tally.Add(&block.Header, b.typ, len(block.Stored))
	d.tally.AddEvents(&b.events, &b.counts)
	d.line = line
}

func (d *dumper) header(block *format.Block) error {
	version, session, err := format.ParseHeaderPayload(block.Payload)
	if err != nil {
		return err
	}
	if d.inside {
		d.damage("at byte %d: a section begins before the one before it has ended", block.Offset)
	}
	if !d.inside && d.continued && !(session.Continues && session.Id == d.session) {
		d.damage("at byte %d: "+format.NoNextEpoch, block.Offset)
	}
	d.session = session.Id
	d.implied = blockPlace{section: format.SectionNumber(session)}
	d.inside, d.continued, d.now = true, true, math.MinInt64
	d.voc.Open = session.Open
	d.tally = raw.NewTally(session)
	d.blockLine("section", &draft{typ: format.BlockHeaderType}, block)
	if version != format.CurrentVersion() {
		d.line = fmt.Appendf(d.line, " major=%d minor=%d features=%#x", version.Major, version.Minor, version.Features)
	}
	always := fieldChoice{"id": true, "open": true}
	if session.Continues {
		for _, name := range []protoreflect.Name{"epoch", "host", "boot_id"} {
			always[name] = true
		}
	}
	m := session.ProtoReflect()
	d.line = append(d.voc.appendFields(d.line, m, always), '\n')
	d.write(d.voc.appendDetails(d.line, m, "  "))
	d.implied.section, d.assumed.section = block.Header.Section, block.Header.Section
	return nil
}

// opaque writes a block as bytes.
func (d *dumper) opaque(block *format.Block) {
	b := &draft{typ: block.Header.Type, opaque: true}
	d.blockLine(fmt.Sprintf("block %d", block.Header.Type), b, block)
	d.write(append(d.line, '\n'))
	d.payload(block.Payload)
}

// payload writes bytes as the end of a payload.
func (d *dumper) payload(b []byte) {
	const perLine = 64
	for ; len(b) > 0; b = b[min(perLine, len(b)):] {
		d.line = hex.AppendEncode(append(d.line[:0], "  payload "...), b[:min(perLine, len(b))])
		d.write(append(d.line, '\n'))
	}
}

// events decodes all events first, because the line before them has the differences between the header and them.
func (d *dumper) events(block *format.Block) error {
	b := &draft{typ: format.BlockEvents}
	records, err := d.eachEvent(block, func(e *raw.Event, size int) { b.counts.Event(e, size, d.voc.types) })
	if err != nil {
		return err
	}
	b.events = *records
	d.blockLine("block events", b, block)
	d.write(append(d.line, '\n'))
	columns := b.events.Rest // of a newer version
	_, err = d.eachEvent(block, func(e *raw.Event, _ int) {
		if e.Time < d.now {
			d.damage("the next event goes back in time")
		}
		d.now = e.Time
		d.line = append(d.voc.appendEvent(append(d.line[:0], "  "...), e), '\n')
		d.write(d.line)
	})
	d.payload(columns)
	return err
}

func (d *dumper) eachEvent(block *format.Block, f func(e *raw.Event, size int)) (*raw.Records, error) {
	records, err := raw.NewRecords(&block.Header, block.Payload)
	if err != nil {
		return nil, err
	}
	var e raw.Event
	for !records.Done() {
		size, err := records.Next(d.voc.KindInfo, &e)
		if err != nil {
			return nil, err
		}
		f(&e, size)
	}
	return records, nil
}

func (d *dumper) end(block *format.Block) error {
	end, footer, err := format.ParseEndPayload(block.Payload)
	if err != nil {
		return err
	}
	if d.tally.IndexAt == 0 {
		d.write([]byte("index none\n"))
	}
	last := end.Last
	m := end.ProtoReflect()
	counted := d.tally.End().ProtoReflect()
	choice := fieldChoice{"close": true, "last": !end.Last}
	var none []byte
	for _, name := range raw.CountedFields() {
		f := m.Descriptor().Fields().ByName(name)
		switch {
		case m.Get(f).Equal(counted.Get(f)):
			choice[name] = false
			m.Clear(f)
		case f.IsList() && !m.Has(f):
			none = append(none, "  "+d.voc.detailOf("End", name).Word+" none\n"...)
		default:
			choice[name] = true
		}
	}
	right := d.tally.Footer(len(block.Payload) - format.FooterSize)
	d.blockLine("end", &draft{typ: format.BlockEnd}, block)
	if footer != right {
		d.line = fmt.Appendf(d.line, " footer=%d,%d,%d", footer.Section, footer.Index, footer.End)
	}
	d.line = append(d.voc.appendFields(d.line, m, choice), '\n')
	d.write(append(d.voc.appendDetails(d.line, m, "  "), none...))
	d.inside, d.continued = false, d.continued && !last
	return nil
}
