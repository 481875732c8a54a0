package engine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/driver"
)

// A virtual machine that stood still reckons a time of the store that has long passed.
func TestGrantFoundAgainHasWhatRemainsOfIt(t *testing.T) {
	m := new(driver.Memory)
	s := replica(t, m)
	require.NoError(t, syncs(t, s))
	c := claim(100, "a")
	_, err := s.Claim(t.Context(), c)
	require.NoError(t, err)
	m.Step(4 * time.Second)
	c.Known = 200 // which is written back
	a, err := s.Claim(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, protocol.Granted, a.Status)
	require.LessOrEqual(t, a.Remaining, c.TTL-4*time.Second)
}
