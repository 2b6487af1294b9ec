package format

import (
	"encoding/binary"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

const (
	// Major and Minor are the version that this package writes. Readers take any minor of their major.
	Major = 1
	Minor = 17
	// Features are the required features that this package supports, as bits.
	Features = uint64(0)

	versionSize = 12
	// maxSessionBytes and maxEndBytes bound the messages of header and end blocks, which take tens of times as
	// much memory when decoded.
	maxSessionBytes = 1 << 20
	maxEndBytes     = 4 << 20
	// MaxProcesses is the maximum number of processes in an end block: those with the most CPU time.
	MaxProcesses = 1 << 15
)

// Version is the part of a header block before its Session.
type Version struct {
	Major, Minor uint16
	Features     uint64 // that a reader must support
}

// CurrentVersion is what this package writes.
func CurrentVersion() Version { return Version{Major: Major, Minor: Minor, Features: Features} }

// AppendHeaderPayload appends the payload of a header block.
func AppendHeaderPayload(dst []byte, v Version, s *Session) ([]byte, error) {
	dst = binary.LittleEndian.AppendUint16(dst, v.Major)
	dst = binary.LittleEndian.AppendUint16(dst, v.Minor)
	dst = binary.LittleEndian.AppendUint64(dst, v.Features)
	start := len(dst)
	dst, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend(dst, s)
	if err == nil && len(dst)-start > maxSessionBytes {
		err = fmt.Errorf("it takes %d bytes, more than the %d that are allowed", len(dst)-start, maxSessionBytes)
	}
	if err != nil {
		return dst, fmt.Errorf("encode the session: %w", err)
	}
	return dst, nil
}

// ParseHeaderPayload reads the payload of a header block. A version or feature that is unknown gives an error
// wrapping [ErrNewer].
func ParseHeaderPayload(b []byte) (Version, *Session, error) {
	if len(b) < versionSize {
		return Version{}, nil, errors.New("a header block is too short")
	}
	le := binary.LittleEndian
	v := Version{Major: le.Uint16(b), Minor: le.Uint16(b[2:]), Features: le.Uint64(b[4:])}
	if v.Major > Major {
		return v, nil, fmt.Errorf("%w: it has format %d.%d and this program reads up to %d", ErrNewer, v.Major, v.Minor, Major)
	}
	if unknown := v.Features &^ Features; unknown != 0 {
		return v, nil, fmt.Errorf("%w: it requires features that this program does not know (bits %#x)", ErrNewer, unknown)
	}
	if v.Major == 0 {
		return v, nil, errors.New("a header block has format 0")
	}
	s := new(Session)
	if err := unmarshalBounded(b[versionSize:], maxSessionBytes, s); err != nil {
		return v, nil, fmt.Errorf("read the session: %w", err)
	}
	return v, s, nil
}

// AppendEndPayload appends the payload of an end block. end is the distance from the section's first byte to the
// end block's header, index that to the index block's header; 0 if there is none.
func AppendEndPayload(dst []byte, e *End, index, end uint64) ([]byte, error) {
	start := len(dst)
	dst, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend(dst, e)
	if err == nil && len(dst)-start > maxEndBytes {
		err = fmt.Errorf("it takes %d bytes, more than the %d that are allowed", len(dst)-start, maxEndBytes)
	}
	if err != nil {
		return dst, fmt.Errorf("encode the end of the section: %w", err)
	}
	size := uint64(BlockHeaderSize + len(dst) - start + FooterSize)
	f := Footer{Section: end + size, End: size}
	if index != 0 {
		f.Index = end + size - index
	}
	return f.AppendTo(dst), nil
}

// ParseEndPayload reads the payload of an end block.
func ParseEndPayload(b []byte) (*End, Footer, error) {
	if len(b) < FooterSize {
		return nil, Footer{}, errors.New("an end block is too short")
	}
	f, err := ParseFooter(b[len(b)-FooterSize:])
	if err != nil {
		return nil, f, err
	}
	e := new(End)
	if err := unmarshalBounded(b[:len(b)-FooterSize], maxEndBytes, e); err != nil {
		return nil, f, fmt.Errorf("read the end of the section: %w", err)
	}
	return e, f, nil
}

// ParseIndexPayload reads the payload of an index block that stands offset bytes into its section. Every entry
// stands for a block, so there cannot be more of them than headers fit before it.
func ParseIndexPayload(b []byte, offset int64) (*Index, error) {
	blocks := int64(0)
	for rest := b; len(rest) > 0; blocks++ {
		_, _, n := protowire.ConsumeField(rest)
		if n < 0 {
			return nil, fmt.Errorf("read the index: %w", protowire.ParseError(n))
		}
		rest = rest[n:]
	}
	if blocks > offset/BlockHeaderSize {
		return nil, errors.New("the index lists more blocks than there are")
	}
	x := new(Index)
	if err := proto.Unmarshal(b, x); err != nil {
		return nil, fmt.Errorf("read the index: %w", err)
	}
	for i, e := range x.Blocks {
		if !isTime(e.First) || !isTime(e.Last) || !isTime(e.Earliest) {
			return nil, fmt.Errorf("read the index: %w", errTime)
		}
		if e.Offset >= uint64(offset) || i > 0 && e.Offset < x.Blocks[i-1].Offset+BlockHeaderSize {
			return nil, errors.New("the index names a block where none can be")
		}
	}
	return x, nil
}

func unmarshalBounded(b []byte, most int, m proto.Message) error {
	if len(b) > most {
		return fmt.Errorf("it takes %d bytes, more than the %d that are allowed", len(b), most)
	}
	if n := countMembers(b); n > maxMembers {
		return fmt.Errorf("it has %d members, more than the %d that are allowed", n, maxMembers)
	}
	if err := proto.Unmarshal(b, m); err != nil {
		return err
	}
	return checkTimes(m.ProtoReflect())
}

// maxMembers bounds the members of a session or an end: an empty one takes fifty times its size when decoded.
const maxMembers = 1 << 18

// countMembers returns the number of fields of a message, up to where it is malformed.
func countMembers(b []byte) (n int) {
	for len(b) > 0 {
		_, _, size := protowire.ConsumeField(b)
		if size < 0 {
			return n
		}
		b = b[size:]
		n++
	}
	return n
}
