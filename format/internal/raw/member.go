package raw

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// maxMember bounds one member: a member of many empty parts is many times larger when decoded.
const maxMember = 1 << 20

// Member is one part of a message that is a list of parts.
type Member struct {
	Field   protoreflect.Name
	Message protoreflect.Message // nil: of a kind unknown to this version
	Raw     []byte
}

// EachMember decodes the parts of a message one by one, because many tiny ones together would take a hundred times their
// size in memory. empty is of the type of the message.
func EachMember(empty protoreflect.Message, payload []byte, visit func(Member)) error {
	fail := func(err error) error {
		return fmt.Errorf("read %s: %w", strings.ToLower(string(empty.Descriptor().Name())), err)
	}
	for len(payload) > 0 {
		number, typ, tag := protowire.ConsumeTag(payload)
		if tag < 0 {
			return fail(protowire.ParseError(tag))
		}
		size := protowire.ConsumeFieldValue(number, typ, payload[tag:])
		if size < 0 {
			return fail(protowire.ParseError(size))
		}
		one := Member{Raw: payload[:tag+size]}
		payload = payload[tag+size:]
		if field := empty.Descriptor().Fields().ByNumber(number); field != nil && typ == protowire.BytesType {
			if size > maxMember {
				return fail(fmt.Errorf("a part takes %d bytes", size))
			}
			one.Field, one.Message = field.Name(), empty.NewField(field).List().NewElement().Message()
			content, _ := protowire.ConsumeBytes(one.Raw[tag:])
			if err := proto.Unmarshal(content, one.Message.Interface()); err != nil {
				return fail(err)
			}
		}
		visit(one)
	}
	return nil
}

// IsCounted reports whether End.definitions counts the definitions in a field of Definitions.
func IsCounted(field protoreflect.Name) bool {
	return field != "event_types" && field != "texts" && field != "waits"
}
