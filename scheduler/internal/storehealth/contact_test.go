package storehealth

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/steady"
)

func TestNoContactWhileNotificationsAreLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewContact(time.Hour)
		answered := func() steady.Instant {
			time.Sleep(time.Second)
			now := steady.Now()
			c.Answered(now, now)
			return now
		}
		first := answered()
		c.Listening(true)
		since, _, ok := c.Lasts(answered())
		require.True(t, ok)
		require.Equal(t, first, since, "it never listened before")

		c.Listening(false)
		_, _, ok = c.Lasts(answered())
		require.False(t, ok, "a part of the store may be out of reach")
		time.Sleep(mostSilent)
		_, _, ok = c.Lasts(answered())
		require.True(t, ok, "they may not come back")

		c.Listening(true)
		again := answered()
		since, _, ok = c.Lasts(again)
		require.True(t, ok)
		require.Equal(t, again, since)
	})
}
