package textform

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"wprof/format"
	"wprof/format/internal/spell"
)

func taskFlagNames() spell.Names {
	return spell.Names{
		uint64(format.TaskFlag_TASK_FLAG_KTHREAD): "kthread", uint64(format.TaskFlag_TASK_FLAG_IDLE): "idle",
		uint64(format.TaskFlag_TASK_FLAG_SELF): "self", uint64(format.TaskFlag_TASK_FLAG_UNKNOWN): "unknown",
	}
}

// enumNames are the names of numbers in messages, by field.
func enumNames() map[protoreflect.FullName]spell.Names {
	modules := spell.Names{}
	for _, k := range format.ModuleKinds() {
		modules[uint64(k.Kind)] = k.Name
	}
	files := spell.Names{}
	for _, k := range format.FileKinds() {
		files[uint64(k.Kind)] = strings.ReplaceAll(k.Name, " ", "_")
	}
	return map[protoreflect.FullName]spell.Names{
		"wprof.Wait.file":      files,
		"wprof.Module.kind":    modules,
		"wprof.Cache.type":     namesOf(format.CacheType(0).Descriptor(), "CACHE_"),
		"wprof.TypeField.type": namesOf(format.ValueType(0).Descriptor(), "VALUE_"), "wprof.TypeField.hint": namesOf(format.ValueHint(0).Descriptor(), "HINT_"),
		"wprof.EventType.shape": namesOf(format.TypeShape(0).Descriptor(), "SHAPE_"), "wprof.EventType.on": namesOf(format.TypeTrack(0).Descriptor(), "TRACK_"), "wprof.EventType.interrupts": namesOf(format.TypeInterrupts(0).Descriptor(), "INTERRUPTS_"),
	}
}

// namesOf returns the names of an enum's values without their prefix, in lower case.
func namesOf(enum protoreflect.EnumDescriptor, prefix string) spell.Names {
	names := spell.Names{}
	for i := range enum.Values().Len() {
		value := enum.Values().Get(i)
		names[uint64(value.Number())] = strings.ToLower(strings.TrimPrefix(string(value.Name()), prefix))
	}
	return names
}

func blockTypeNames() spell.Names {
	return spell.Names{
		uint64(format.BlockHeaderType): "header", uint64(format.BlockDefinitions): "definitions", uint64(format.BlockEvents): "events",
		uint64(format.BlockIndex): "index", uint64(format.BlockEnd): "end",
	}
}
