package tested

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/solotest"
)

// each runs the job on three replicas for five minutes, with a fault, and looks at the invoices.
func each(t *testing.T, fault func(f *solotest.Fleet, gate *solotest.Gate)) {
	solotest.Run(t, 3, func(t *testing.T, f *solotest.Fleet) {
		gate := f.Gate()
		f.Func("invoices", "@every 1m", invoices(gate, "acme", "umbrella"))
		fault(f, gate)
		f.Advance(5*time.Minute + 30*time.Second)
		f.AssertOnce("invoices", f.Began().Add(time.Minute), f.Began().Add(5*time.Minute))
		gate.AssertOnce("acme 2000-01-01T00:01:00Z", "umbrella 2000-01-01T00:01:00Z", "umbrella 2000-01-01T00:05:00Z")
		gate.AssertNoStale()
	})
}

func TestADeadReplicasInvoicesAreWrittenOnce(t *testing.T) {
	each(t, func(f *solotest.Fleet, gate *solotest.Gate) { gate.After(1, f.Kill) })
}

func TestAFrozenReplicaWritesNothingTwice(t *testing.T) {
	each(t, func(f *solotest.Fleet, gate *solotest.Gate) {
		gate.Before(2, func(replica string) {
			f.Pause(replica)
			time.AfterFunc(time.Minute/2, func() { f.Resume(replica) })
		})
	})
}

func TestAReplicaThatIsCutOffIsReplaced(t *testing.T) {
	each(t, func(f *solotest.Fleet, gate *solotest.Gate) { gate.After(1, f.Cut) })
}

func TestTheJobEndsWithItsLease(t *testing.T) {
	loss := solotest.LoseLease(t, invoices(nothing{}, make([]string, 1000)...))
	require.ErrorIs(t, loss.Err, loss.Cause)
}

// nothing is a ledger that accepts everything.
type nothing struct{}

func (nothing) WriteOnce(context.Context, int64, string) error { return nil }
