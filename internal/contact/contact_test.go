package contact_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/contact"
	"github.com/solotick/solotick/internal/steady"
)

func at(d time.Duration) steady.Instant { return steady.Instant(0).Add(d) }

func TestContactLastsWhileAnswersFollowEachOther(t *testing.T) {
	const s = time.Second
	c := contact.New(3 * s)
	is := func(now, want time.Duration) {
		t.Helper()
		since, until, ok := c.Since(at(now))
		require.True(t, ok)
		require.LessOrEqual(t, at(now), until)
		require.Equal(t, at(want), since)
	}
	isNot := func(now time.Duration) {
		t.Helper()
		_, _, ok := c.Since(at(now))
		require.False(t, ok)
	}

	isNot(1 * s)
	c.Answered(at(10*s), at(11*s))
	is(12*s, 11*s)
	is(13*s, 11*s)
	isNot(13*s + 1)

	_, until, _ := c.Since(at(12 * s))
	require.Equal(t, at(13*s), until, "it counts from when the answered request was sent")

	c.Answered(at(12*s), at(13*s))
	c.Answered(at(14*s), at(14*s))
	is(17*s, 11*s)

	c.Answered(at(16*s), at(17*s+1))
	is(18*s, 17*s+1)

	c.Answered(at(18*s), at(18*s))
	c.Answered(at(19*s), at(21*s+1))
	is(21*s+1, 21*s+1) // the store may have been frozen after 18 s

	c.End()
	isNot(21*s + 2)
	c.Answered(at(22*s), at(22*s))
	is(22*s, 22*s)

	c.Limit(s)
	isNot(23*s + 1)
}
