package record_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/record"
)

func TestLockIsKeptWhileOfUseAndMinutes(t *testing.T) {
	const minutes = 5 * time.Minute
	now := time.UnixMicro(1e15).UTC()
	claim := func(request string, ttl time.Duration) protocol.LockClaim {
		return protocol.LockClaim{Name: "l", Holder: "a", Request: request, TTL: ttl, Permits: 1, Limit: 1}
	}
	l := new(record.Lock)
	c := claim("one", 192*time.Hour)
	a, _ := l.Claim(c, record.At(now))
	require.Equal(t, 192*time.Hour+minutes, l.Keep())
	w := claim("two", time.Second)
	w.WaiterTTL = time.Hour
	_, _ = l.Claim(w, record.At(now))
	_, err := l.Release(c.Grant(a), record.At(now))
	require.NoError(t, err)
	require.Equal(t, time.Hour+minutes, l.Keep(), "somebody waits")
	a, _ = l.Claim(w, record.At(now))
	_, err = l.Release(w.Grant(a), record.At(now.Add(time.Second)))
	require.NoError(t, err)
	require.Equal(t, minutes, l.Keep())

	// A holder that was deprived of it may ask once more, whatever happens to the lock meanwhile.
	a, _ = l.Claim(claim("three", 2*time.Hour), record.At(now))
	_, held := l.ForceRelease(a.Token, record.At(now))
	require.True(t, held)
	again := new(record.Lock)
	require.NoError(t, again.Decode("l", l.Encode(0), 0, nil))
	a, _ = again.Claim(claim("four", time.Second), record.At(now))
	_, err = again.Release(claim("four", time.Second).Grant(a), record.At(now.Add(time.Hour)))
	require.NoError(t, err)
	require.Equal(t, time.Hour+minutes, again.Keep())

	// So are tokens that are ahead of the clock.
	ahead := claim("five", time.Second)
	ahead.Known = now.Add(10 * time.Hour).UnixMicro()
	a, _ = again.Claim(ahead, record.At(now.Add(3*time.Hour)))
	_, err = again.Release(ahead.Grant(a), record.At(now.Add(3*time.Hour)))
	require.NoError(t, err)
	require.InDelta(t, 7*time.Hour+minutes, again.Keep(), float64(time.Second))
}
