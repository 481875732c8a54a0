package scheduler_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
)

// TestClaimTakesNothingOverBeyondItsContact: a claim may be held up while the store is frozen, and
// the holder could not renew either. Configuration broken-outage-sent of docs/model shows what
// happens otherwise.
func TestClaimTakesNothingOverBeyondItsContact(t *testing.T) {
	inFleet(t, func(f *fleet) {
		const gap, slack = ttl / 3, 5 * time.Millisecond
		f.job("job", "@every 10s", takes(9*time.Second))
		f.start("dies")
		f.sleepTo(5 * time.Second)
		bound := 0
		f.start("lives").link.onClaim(func(c protocol.Claim, answered time.Time) {
			if c.TakeoverUntil.After(epoch) {
				bound++
				assert.Less(f.t, c.TakeoverUntil.Sub(answered), gap+slack)
			}
		})
		for i := range 20 { // the claims of takeovers are made at any age of the last answer
			f.sleepTo(time.Duration(i+1)*10*time.Second + time.Second)
			f.replica("dies").link.cut()
			f.sleepTo(time.Duration(i+1)*10*time.Second + 8*time.Second + time.Duration(i)*37*time.Millisecond)
			f.replica("dies").link.heal()
		}
		require.Greater(t, bound, 10)
	})
}
