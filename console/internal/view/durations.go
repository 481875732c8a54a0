package view

import (
	"slices"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
)

// measurement says how long the runs of a job took.
type measurement struct {
	Runs   int // that were measured; 0 when it is not known
	Median time.Duration
	P90    time.Duration // nine in ten runs took no longer
}

// measured measures the runs in a history that ended by themselves: others were cut short.
func measured(history []fleet.Entry) measurement {
	var took []time.Duration
	for _, e := range history {
		if ran(&e) {
			took = append(took, e.Took())
		}
	}
	return measurementOf(took)
}

func ran(e *fleet.Entry) bool {
	return e.Token != 0 && !e.IsRange() && (e.Outcome == protocol.OutcomeSucceeded || e.Outcome == "failed")
}

func measurementOf(took []time.Duration) measurement {
	n := len(took)
	if n == 0 {
		return measurement{}
	}
	slices.Sort(took)
	return measurement{Runs: n, Median: took[(n-1)/2], P90: took[(9*n-1)/10]}
}
