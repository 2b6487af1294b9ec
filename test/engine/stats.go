package engine

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"wprof/internal/perfetto/schema"
)

// harmless are the statistics of the engine that may differ from 0, each with the reason. Any other one fails
// [CheckStats], because the engine also counts what it silently ignores.
func harmless() map[string]string {
	return map[string]string{
		"guess_trace_type_duration_ns": "how long loading took",
		"parse_trace_duration_ns":      "how long loading took",
		"json_display_time_unit":       "a trace in Chrome's format says in which unit it is shown",
		"clock_sync_cache_miss":        "how often clocks were converted, once for each snapshot",
	}
}

// CheckStats fails the test if the engine counted an error or a loss in a trace, or anything else that is not known to
// be harmless, or if the file has a byte that our description of the format does not explain.
func CheckStats(t testing.TB, trace string) {
	t.Helper()
	CheckCounts(t, trace)
	Decode(t, trace)
}

// CheckCounts does so of a trace in any format that the engine reads, by what it counts alone.
func CheckCounts(t testing.TB, trace string) {
	t.Helper()
	rows := Query(t, trace, `select name, idx, severity, source, value from stats where value != 0`)
	for _, problem := range problemsOf(rows[0]) {
		t.Errorf("%s: %s", trace, problem)
	}
}

func problemsOf(rows []Row) []string {
	var problems []string
	allowed := harmless()
	for _, row := range rows {
		name := row["name"].(string)
		_, known := allowed[name]
		severity := row["severity"].(string)
		if severity == "info" && known {
			continue
		}
		problems = append(problems, fmt.Sprintf("the engine counts %s = %v (%s)", name, row["value"], severity))
	}
	return problems
}

// Decode reads the whole file as our description of the format has it, and fails the test over anything else in it.
func Decode(t testing.TB, trace string) *schema.Trace {
	t.Helper()
	file, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	decoded := new(schema.Trace)
	if err := proto.Unmarshal(file, decoded); err != nil {
		t.Fatalf("%s is not Perfetto's format: %v", trace, err)
	}
	if path := unknown(decoded.ProtoReflect()); path != "" {
		t.Fatalf("%s has fields that internal/perfetto/schema does not know, first in %s", trace, path)
	}
	return decoded
}

// unknown names the first message that holds unknown fields.
func unknown(m protoreflect.Message) string {
	if raw := m.GetUnknown(); len(raw) > 0 {
		number, _, _ := protowire.ConsumeTag(raw)
		return fmt.Sprintf("%s, number %d", m.Descriptor().Name(), number)
	}
	found := ""
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if f.Message() == nil {
			return true
		}
		if f.IsList() {
			for i := range v.List().Len() {
				if found = unknown(v.List().Get(i).Message()); found != "" {
					break
				}
			}
		} else {
			found = unknown(v.Message())
		}
		if found != "" && !strings.Contains(found, ":") {
			found = string(f.Name()) + ": " + found
		}
		return found == ""
	})
	return found
}
