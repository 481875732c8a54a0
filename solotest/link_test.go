package solotest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease/driver"
)

func TestIndexIsReachedOverTheLink(t *testing.T) {
	l := newLink(newServer(), new(driver.Memory), 1)
	at := time.Now().UTC().Truncate(time.Millisecond)
	c := &driver.Change{ID: "r", Data: []byte("x"), Due: at}
	require.NoError(t, l.Do(t.Context(), []driver.Op{{Key: "job/a", Change: c}})[0].Err)
	due := func() ([]driver.DueKey, error) {
		return l.Due(t.Context(), "job", []int{driver.ShareOf("job/a")}, at, 1)
	}
	list, err := due()
	require.NoError(t, err)
	require.Equal(t, []driver.DueKey{{Key: "job/a", At: at}}, list)
	l.set(func() { l.lost = 1 })
	list, err = due()
	require.ErrorIs(t, err, errLost)
	require.Empty(t, list)
	l.set(func() { l.state = refuses })
	_, err = due()
	require.ErrorIs(t, err, errCut)
}
