package pytrace

// The structures of torchagent/shared.h, which TestTorchStructures compares with these.
const (
	torchMaxThreads  = 64
	torchMaxDepth    = 128
	torchMaxRecords  = 1 << 14
	torchNameBytes   = 96
	torchShapeWords  = 24
	torchThreadsAt   = pageBytes
	torchThreadBytes = 4 << 20
	torchSharedBytes = torchThreadsAt + torchMaxThreads*torchThreadBytes

	torchControlLost = 32

	torchRecordBytes  = 240
	torchRecordStart  = 0
	torchRecordEnd    = 8
	torchRecordSelf   = 16
	torchRecordSeq    = 24
	torchRecordFwd    = 32
	torchRecordCPU    = 40
	torchRecordScope  = 42
	torchRecordName   = 43
	torchRecordShape  = 44
	torchRecordText   = 48
	torchRecordShapes = 144

	torchCallBytes  = 256
	torchCallRecord = 16

	torchThreadID      = 0
	torchThreadHead    = 8
	torchThreadTail    = 16
	torchThreadLost    = 24
	torchThreadTID     = 32
	torchThreadDepth   = 36
	torchThreadCalls   = 64
	torchThreadRecords = torchThreadCalls + torchMaxDepth*torchCallBytes
)

// torchConfig is struct config of the agent for PyTorch.
type torchConfig struct {
	InUse, State, Deadline                                                           uint64
	Shared, SharedBytes, Own, Shapes, Places                                         uint64
	ClockGettime, AddPending, AddCallback, RemoveCallback, Name, Thread, Async, Peek uint64
	Scope, Sequence, Inputs, Forward                                                 uint64
	Sizes, SizePolicy, PolicyMask                                                    uint64
}

// torchConfigOwn is where the field Own is.
const torchConfigOwn = 40
