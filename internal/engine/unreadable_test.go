package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/engine"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/driver"
)

// unreadable returns a session that has seen a value which is no record.
func unreadable(t *testing.T) (m *driver.Memory, s *engine.Session) {
	t.Helper()
	m = new(driver.Memory)
	s = replica(t, m)
	change := driver.Change{ID: "other", Data: []byte("not a record")}
	require.Equal(t, driver.Done, m.Do(t.Context(), []driver.Op{{Key: "job", Change: &change}})[0].Status)
	require.ErrorIs(t, syncs(t, s), protocol.ErrRecord)
	return m, s
}

func syncs(t *testing.T, s *engine.Session) error {
	t.Helper()
	_, err := s.Sync(t.Context(), []protocol.Sync{{Name: "job", Watermark: 99}})
	return err
}

func TestUnreadableValueIsForgottenOnceRemoved(t *testing.T) {
	m, s := unreadable(t)
	m.Forget()
	require.NoError(t, syncs(t, s))
}

func TestUnreadableValueIsForgottenOnceReplaced(t *testing.T) {
	m, s := unreadable(t)
	m.Forget()
	require.NoError(t, syncs(t, replica(t, m)))
	require.NoError(t, syncs(t, s))
}
