package main

import (
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/lease"
)

// verdict is an entry's outcome, or what the tick is doing.
func verdict(e fleet.Entry) cell {
	if e.State != fleet.Settled {
		return cell{text: stateWords(e.State), style: cyan}
	}
	return cell{fleet.Words(string(e.Outcome)), outcomeStyle(e.Outcome)}
}

// stateWords says what an open tick does.
func stateWords(s fleet.State) string {
	if s == fleet.Free {
		return "awaits takeover"
	}
	return string(s)
}

func outcomeStyle(o lease.Outcome) style {
	switch o {
	case "succeeded":
		return green
	case "failed", lease.OutcomeLost:
		return red
	case "released":
		return plain
	default:
		return yellow
	}
}
