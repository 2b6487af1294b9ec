package capture

const (
	trapInstruction = "\x00\x00\x20\xd4" // brk #0
	trapMoves       = 0
)
