package assemble

import (
	"strings"

	"wprof/internal/sideband"
)

// appendSide appends the side-band record of a line of a spool's text form.
func appendSide(b []byte, at int64, word string, f fields) []byte {
	r := sideband.Record{
		Kind: map[string]sideband.Kind{
			"map": sideband.KindMap, "exec": sideband.KindExec, "fork": sideband.KindFork, "exit": sideband.KindExit,
			"command": sideband.KindCommand, "lost": sideband.KindLost, "throttled": sideband.KindThrottled,
			"unthrottled": sideband.KindUnthrottled, "kept": sideband.KindKept, "jit": sideband.KindJIT,
			"code": sideband.KindCode, "function": sideband.KindFunction, "gone": sideband.KindFunctionGone,
		}[word],
		Time: at, PID: uint32(f.number("pid")), Parent: uint32(f.number("parent")), CPU: uint32(f.number("cpu")),
		Count: uint64(f.number("count")), Start: hex(f["from"]), Length: hex(f["to"]) - hex(f["from"]), Offset: hex(f["off"]),
		Device: hex(f["dev"]), Inode: hex(f["ino"]), BuildID: []byte(f["build"]), Path: []byte(f["path"]),
	}
	if words := f["words"]; words != "" {
		r.Data = []byte(strings.ReplaceAll(words, ",", "\x00") + "\x00")
	}
	if module := f["module"]; module != "" {
		r.Data, r.Offset = []byte(module), r.Start-hex(f["base"])
	}
	return sideband.Append(b, &r)
}
