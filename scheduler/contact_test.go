package scheduler

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/steady"
)

func TestNoContactWhileNotificationsAreLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newContact(time.Hour)
		answered := func() steady.Instant {
			time.Sleep(time.Second)
			now := steady.Now()
			c.Answered(now, now)
			return now
		}
		first := answered()
		c.listening(true)
		since, _, ok := c.lasts(answered())
		require.True(t, ok)
		require.Equal(t, first, since, "it never listened before")

		c.listening(false)
		_, _, ok = c.lasts(answered())
		require.False(t, ok, "a part of the store may be out of reach")
		time.Sleep(mostSilent)
		_, _, ok = c.lasts(answered())
		require.True(t, ok, "they may not come back")

		c.listening(true)
		again := answered()
		since, _, ok = c.lasts(again)
		require.True(t, ok)
		require.Equal(t, again, since)
	})
}
