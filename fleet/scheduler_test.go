package fleet_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/lease/protocol"
	"github.com/solotick/solotick/scheduler"
)

func TestTheWordsAreThoseOfTheScheduler(t *testing.T) {
	require.Equal(t,
		[]protocol.Outcome{scheduler.Succeeded, scheduler.Failed, scheduler.Skipped, scheduler.Missed, scheduler.Lost}, fleet.Outcomes)
	var reasons []string
	for _, r := range []scheduler.Reason{
		scheduler.ReasonOverlap, scheduler.ReasonPaused, scheduler.ReasonMisfire, scheduler.ReasonTooOld, scheduler.ReasonTooMany, scheduler.ReasonForgotten,
	} {
		reasons = append(reasons, string(r))
	}
	require.Equal(t, reasons, fleet.Reasons)
}
