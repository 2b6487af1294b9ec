package capture

const (
	trapInstruction = "\xcc" // int3
	trapMoves       = 1      // bytes by which the instruction pointer is behind it
)
