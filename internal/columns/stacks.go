package columns

import (
	"slices"
	"unsafe"

	"github.com/parquet-go/parquet-go"

	"wprof/internal/records"
)

// maxStack bounds the bytes of one stack's texts; a larger stack is cut. Inlined functions with the longest
// names could make it 500 times as much.
const maxStack = 1 << 20

// stackRow is a row of stacks.parquet.
type stackRow struct {
	id      int64
	cut     bool
	frames  []records.Frame
	sourced bool // the file of some frame is known
}

// frameRow is a row of frames.parquet.
type frameRow struct {
	records.Frame
	stack, position int64
}

// stackFiles are the files of stacks.
type stackFiles struct {
	stacks *file[stackRow]
	frames *file[frameRow]
}

func stackFields() []field[stackRow] {
	return []field[stackRow]{
		integer("id", func(r *stackRow) int64 { return r.id }),
		lines("frames", func(*stackRow) bool { return true }, func(f *records.Frame, b []byte) []byte { return f.AppendName(b) }),
		lines("srcs", func(r *stackRow) bool { return r.sourced }, func(f *records.Frame, b []byte) []byte { return f.AppendSource(b) }),
		lines("modules", func(*stackRow) bool { return true }, func(f *records.Frame, b []byte) []byte { return append(b, f.Module...) }),
		flag("cut", func(r *stackRow) bool { return r.cut }),
	}
}

// lines is a column with a text for each frame; has reports whether a stack has any of these texts.
func lines(name string, has func(*stackRow) bool, appendText func(*records.Frame, []byte) []byte) field[stackRow] {
	var text []byte
	return leafField(name, parquet.List(textNode()), func(c *column, rows []stackRow) {
		for i := range rows {
			r := &rows[i]
			if len(r.frames) == 0 || !has(r) {
				c.null()
				continue
			}
			for at := range r.frames {
				text = appendText(&r.frames[at], text[:0])
				c.element(at)
				c.text(unsafe.String(unsafe.SliceData(text), len(text))) // which copies what it keeps
			}
		}
	})
}

func frameFields() []field[frameRow] {
	places := []string{records.User: "user", records.Kernel: "kernel", records.Python: "python", records.Awaiting: "awaiting", records.Ruby: "ruby"}
	known := func(s string) (string, bool) { return s, s != "" }
	return []field[frameRow]{
		integer("stack_id", func(r *frameRow) int64 { return r.stack }),
		integer("position", func(r *frameRow) int64 { return r.position }),
		word("place", places, func(r *frameRow) int64 { return int64(r.Place) }),
		optionalText("function", func(r *frameRow) (string, bool) { return known(r.Function) }),
		integer("offset", func(r *frameRow) int64 { return int64(r.Offset) }),
		flag("inlined", func(r *frameRow) bool { return r.Inlined }),
		optionalText("file", func(r *frameRow) (string, bool) { return known(r.File) }),
		optionalInteger("line", func(r *frameRow) (int64, bool) { return int64(r.Line), r.Line != 0 }),
		optionalText("module", func(r *frameRow) (string, bool) { return known(r.Module) }),
	}
}

// write writes a section's stacks.
func (s *stackFiles) write(all *records.Stacks) (count int64, err error) {
	for stack := range all.All() {
		if err := s.add(stack); err != nil {
			return count, err
		}
		count++
	}
	return count, nil
}

func (s *stackFiles) add(stack *records.Stack) error {
	frames, texts := innermost(stack.Frames)
	row, err := s.stacks.add(texts)
	if err != nil {
		return err
	}
	row.id, row.cut = stack.ID, stack.Cut || len(frames) < len(stack.Frames)
	row.frames = append(row.frames[:0], frames...)
	row.sourced = slices.ContainsFunc(frames, func(f records.Frame) bool { return f.File != "" })
	for i := range frames {
		f := &frames[i]
		at, err := s.frames.add(textsOfFrame(f))
		if err != nil {
			return err
		}
		at.stack, at.position, at.Frame = stack.ID, int64(i), *f
	}
	return nil
}

// innermost returns as many frames as maxStack allows, and the size of their texts in bytes.
func innermost(frames []records.Frame) ([]records.Frame, int) {
	texts := 0
	for i := len(frames) - 1; i >= 0; i-- {
		if texts += textsOfFrame(&frames[i]); texts > maxStack {
			return frames[i+1:], texts
		}
	}
	return frames, texts
}

// textsOfFrame returns the maximum size of a frame's texts in bytes.
func textsOfFrame(f *records.Frame) int {
	const digits = 48 // an offset, a line and punctuation
	return len(f.Function) + len(f.File) + len(f.Module) + digits
}
