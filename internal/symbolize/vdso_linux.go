package symbolize

import "wprof/internal/symbol"

func readVDSO() ([]byte, error) { return symbol.ReadVDSO() }
