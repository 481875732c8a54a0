package historytest

import (
	"github.com/anishathalye/porcupine"

	"github.com/solotick/solotick/lease/driver"
)

const keys = 3

// unknown is the stamp of a version that nobody has seen.
const unknown = -1

// registers says what may be answered about the version of a key.
var registers = porcupine.NondeterministicModel{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		parts := make([][]porcupine.Operation, keys)
		for _, op := range history {
			k := op.Input.(event).Key
			parts[k] = append(parts[k], op)
		}
		return parts
	},
	Init: func() []any { return []any{driver.Version{}} },
	Step: func(state, in, out any) []any {
		present, ask, answer := state.(driver.Version), in.(event), out.(event)
		switch {
		case ask.ID == "" && answer.Failed:
			return []any{present}
		case ask.ID == "" || answer.Status == driver.Conflict:
			seen := present == answer.Version || present.Stamp == unknown && present.ID == answer.Version.ID
			if seen && (ask.ID == "" || answer.Version != ask.From) {
				return []any{answer.Version}
			}
		case answer.Failed:
			if present == ask.From {
				return []any{present, driver.Version{Stamp: unknown, ID: ask.ID}}
			}
			return []any{present}
		case answer.Status == driver.Done:
			if present == ask.From && answer.Version.ID == ask.ID && answer.Version.Stamp > present.Stamp {
				return []any{answer.Version}
			}
		}
		return nil
	},
	Equal: func(a, b any) bool { return a == b },
}
