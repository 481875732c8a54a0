package cli

import (
	"fmt"
	"time"

	"github.com/solotick/solotick/cmd/worker/internal/output"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
)

// failures says how the last attempts of an open tick have ended.
func failures(v output.View, e fleet.Entry, zone *time.Location) string {
	f := e.Failing
	since := v.Tick(f.Since.Truncate(time.Second), zone)
	if f.Failures == 1 {
		return fmt.Sprintf("attempt %d failed at %s: %s", f.Attempt, since, f.Error)
	}
	return fmt.Sprintf("%d attempts failed since %s: %s", f.Failures, since, f.Error)
}

// verdict returns the outcome of an entry, or the state of an open tick.
func verdict(e fleet.Entry) output.Cell {
	if e.State != wire.StateSettled {
		return output.Cell{Text: stateWords(e.State), Style: output.Cyan}
	}
	return output.Cell{Text: wire.Words(string(e.Outcome)), Style: outcomeStyle(e.Outcome)}
}

// stateWords describes the state of an open tick.
func stateWords(s string) string {
	if s == wire.StateFree {
		return "awaits takeover"
	}
	return s
}

func outcomeStyle(o protocol.Outcome) output.Style {
	switch o {
	case "succeeded":
		return output.Green
	case "failed", protocol.OutcomeLost:
		return output.Red
	case "released":
		return output.Plain
	default:
		return output.Yellow
	}
}
