package pytrace

import (
	_ "embed"
	"encoding/binary"
)

//go:generate ./generate.sh ../agent_amd64.bin

//go:embed agent_amd64.bin
var image []byte

// agentImage is where the parts of the agent are in its image, as agent.ld writes them.
type agentImage struct {
	code   []byte // read and executed; a whole number of pages
	start  uint64
	config uint64
	bytes  uint64 // with what follows the code, zeros at first
}

func readImage(image []byte) agentImage {
	at := func(i int) uint64 { return binary.LittleEndian.Uint64(image[8*i:]) }
	return agentImage{code: image[:at(2)], start: at(0), config: at(1), bytes: at(3)}
}
