package console

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPageIsMadeOnceForAllWhoAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pages fragments
		made, of := 0, new(reading)
		slow := func() ([]byte, *problem) {
			made++
			time.Sleep(time.Second)
			return []byte("page"), nil
		}
		var group sync.WaitGroup
		for range 50 {
			group.Go(func() {
				f, p := pages.get(t.Context(), of, fragmentKey{path: "/"}, slow)
				require.Nil(t, p)
				require.Equal(t, "page", string(f.body))
			})
		}
		group.Wait()
		require.Equal(t, 1, made)
		_, _ = pages.get(t.Context(), new(reading), fragmentKey{path: "/"}, slow)
		require.Equal(t, 2, made, "of a newer reading")
	})
}

func TestPageThatFailedIsMadeAgain(t *testing.T) {
	var pages fragments
	of := new(reading)
	_, p := pages.get(t.Context(), of, fragmentKey{}, func() ([]byte, *problem) { return nil, notFound("no") })
	require.NotNil(t, p)
	f, p := pages.get(t.Context(), of, fragmentKey{}, func() ([]byte, *problem) { return []byte("page"), nil })
	require.Nil(t, p)
	require.Equal(t, "page", string(f.body))
}

func TestPagesThatAreKeptAreBounded(t *testing.T) {
	var pages fragments
	of := new(reading)
	for i := range 100 {
		_, p := pages.get(context.Background(), of, fragmentKey{query: string(rune(i))}, func() ([]byte, *problem) { return make([]byte, 1<<20), nil })
		require.Nil(t, p)
	}
	require.Len(t, pages.byKey, maxFragments>>20)
}
