package sources

import (
	"wprof/format"
	"wprof/internal/ringdata"
)

// Torch is the word of -f for operators of PyTorch.
const Torch = "py-torch"

// torchType are spans of PyTorch's operators. No kernel program writes them: package pytrace reads them from the processes.
func torchType() Type {
	def := threadSpan("torch_op", Torch, "PyTorch",
		name(Field("operator", format.ValueType_VALUE_TEXT)), Field("shapes", format.ValueType_VALUE_TEXT), enum("scope", torchScopes()...),
		orUnknown(Field("sequence", format.ValueType_VALUE_INT)), Field("forward_thread", format.ValueType_VALUE_TASK),
		Field("self", format.ValueType_VALUE_DURATION), Field("began_before", format.ValueType_VALUE_BOOL))
	def.Colour = nil // operators differ
	return Type{Number: ringdata.TypeTorch, Feature: Torch, Doc: "operators of PyTorch in all or chosen processes of Python, py-torch=[shapes:]PID|NAME", Def: def}
}

// TorchBackward is the scope of backward functions.
const TorchBackward = 1

// torchScopes names the values of at::RecordScope.
func torchScopes() []*format.EnumName {
	return numbered(0, "operator", "backward", "torchscript", "kernel_dtype", "custom_class", "build_feature", "lite_interpreter", "user",
		"static_runtime_op", "static_runtime_model")
}
