package sqlitelease

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLooksAreFewWhereNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := new(file)
		looks := func(during time.Duration) (n int) {
			for began := time.Now(); time.Since(began) < during; n++ {
				time.Sleep(f.pause())
			}
			return n
		}
		require.Equal(t, 500, looks(10*time.Second))
		f.queued = time.Now() // as by a claim that waits
		require.LessOrEqual(t, looks(200*time.Millisecond), 10+25)
		require.Equal(t, 500, looks(10*time.Second))
	})
}
