package svg

import (
	"bytes"
	"encoding/json"
	"strconv"

	"wprof/internal/flame/graph"
	"wprof/internal/flame/web"
)

// symbol is a function in a file, or a name without a file.
type symbol struct{ name, module string }

// symbols numbers symbols in the order of their first use.
type symbols struct {
	ids   map[symbol]int32
	all   []symbol
	bytes int // of their names in a picture
}

func (s *symbols) id(n *graph.GraphNode) int32 {
	if s.ids == nil {
		s.ids = make(map[symbol]int32)
	}
	key := symbol{n.Name, n.Module}
	id, known := s.ids[key]
	if !known {
		id = int32(len(s.all))
		s.ids[key] = id
		s.all = append(s.all, key)
		s.bytes += len(web.ShortName(n.Name))
	}
	return id
}

// svgTable is the table that the script draws from: see table.js.
type svgTable struct {
	Icicle  bool     `json:"icicle"`
	Changes bool     `json:"changes"`
	Events  bool     `json:"events,omitempty"` // it shows events, not what threads did
	Counts  bool     `json:"counts,omitempty"` // times are numbers of events, not ns
	Idle    int      `json:"idle,omitempty"`   // the frame with all waits for work
	Names   []string `json:"names"`            // of symbols
	Files   []int32  `json:"files"`            // of symbols: index in Modules plus 1; 0: not known
	Modules []string `json:"modules"`          // names of files
	Frames  string   `json:"frames"`
	Look    look     `json:"look"`
}

// look has the sizes that the script shares with the static picture, in pixels.
type look struct {
	Row    int     `json:"row"`
	Bar    int     `json:"bar"`
	Margin int     `json:"margin"`
	Gap    int     `json:"gap"`
	Letter float64 `json:"letter"`
}

// table writes the table. JSON with <, > and & escaped is also valid XML text.
func (d *drawing) table(b *bytes.Buffer) error {
	t := svgTable{
		Icicle: d.pic.Icicle, Changes: d.changes, Events: d.pic.IsEvents, Counts: d.pic.IsCount, Idle: d.idle, Names: []string{}, Files: []int32{}, Modules: []string{},
		Look: look{rowHeight, barHeight, margin, framesGap, letterWidth},
	}
	files := map[string]int32{"": 0}
	for _, s := range d.symbols.all {
		module := web.ShortName(s.module)
		id, known := files[module]
		if !known {
			t.Modules = append(t.Modules, module)
			id = int32(len(t.Modules))
			files[module] = id
		}
		t.Names, t.Files = append(t.Names, web.ShortName(s.name)), append(t.Files, id)
	}
	t.Frames = d.records()
	text, err := json.Marshal(&t)
	if err != nil {
		return err
	}
	b.WriteString("<metadata>")
	b.Write(text)
	b.WriteString("</metadata>\n")
	return nil
}

// kindSmall is the kind of small frames that are put together.
const kindSmall = graph.Kinds

// records returns the frames, each followed by all above it and ended by a semicolon. The fields of a frame are in base 36,
// separated by commas; zeros and trailing commas are left out. They are: how many levels lower it is than a child of the
// frame before it would be; its symbol, or the number of small frames; its kind; its own ns on the CPU, off it and unknown, and
// its count; its time and count in the graph that it is compared with; and its waits for a CPU here and there.
func (d *drawing) records() string {
	var out []byte
	depth := int32(-1)
	for i := range d.frames {
		f := &d.frames[i]
		kind, symbol := d.g.Nodes[f.node].Kind, uint64(d.ids[i])
		if f.together > 0 {
			kind, symbol = kindSmall, uint64(f.together)
		}
		out = appendRecord(out, uint64(depth+1-f.depth), symbol, uint64(kind), uint64(f.self.On), uint64(f.self.Off),
			uint64(f.self.Unknown), f.self.Count, uint64(f.gone), f.goneCount, f.self.Waits, f.goneWaits)
		depth = f.depth
	}
	return string(out)
}

func appendRecord(out []byte, fields ...uint64) []byte {
	end := len(out)
	for i, v := range fields {
		if i > 0 {
			out = append(out, ',')
		}
		if v != 0 {
			out = strconv.AppendUint(out, v, 36)
			end = len(out)
		}
	}
	return append(out[:end], ';')
}
