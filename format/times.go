package format

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// MaxTime bounds every time and duration in a stream, so that the difference of any two fits into 64 bits: 73 years, in ns.
// maxDate bounds the time of day, in the year 2116.
const (
	MaxTime = 1<<61 - 1
	maxDate = 1<<62 - 1
)

var errTime = errors.New("times in a stream are at most 73 years")

func isTime(t int64) bool { return -MaxTime <= t && t <= MaxTime }

// checkTimes checks all times of a message: all of its int64 fields are times.
func checkTimes(m protoreflect.Message) (err error) {
	m.Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case field.Kind() == protoreflect.MessageKind && field.IsList() && !mayHaveTimes(field.Message()):
		case field.Kind() == protoreflect.MessageKind && field.IsList():
			for i := 0; err == nil && i < v.List().Len(); i++ {
				err = checkTimes(v.List().Get(i).Message())
			}
		case field.Kind() == protoreflect.MessageKind:
			err = checkTimes(v.Message())
		case field.Kind() == protoreflect.Int64Kind:
			err = checkTime(field, v.Int())
		}
		return err == nil
	})
	return err
}

func checkTime(field protoreflect.FieldDescriptor, t int64) error {
	most := int64(MaxTime)
	if field.Name() == "realtime" {
		most = maxDate
	}
	if t < -most || t > most {
		return fmt.Errorf("%s is %d ns: %w", field.FullName().Name(), t, errTime)
	}
	return nil
}

// mayHaveTimes lets checkTimes skip long lists, above all of losses.
func mayHaveTimes(m protoreflect.MessageDescriptor) bool {
	for i := range m.Fields().Len() {
		if kind := m.Fields().Get(i).Kind(); kind == protoreflect.Int64Kind || kind == protoreflect.MessageKind {
			return true
		}
	}
	return false
}
