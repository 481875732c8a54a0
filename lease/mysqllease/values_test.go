package mysqllease_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/mysqllease"
)

func change(ctx context.Context, s *mysqllease.Store, key string, c driver.Change) driver.Result {
	return s.Values().Do(ctx, []driver.Op{{Key: key, Change: &c}})[0]
}

func read(ctx context.Context, s *mysqllease.Store, key string) driver.Result {
	return s.Values().Do(ctx, []driver.Op{{Key: key}})[0]
}

// changed changes a value from a version, and returns the next one.
func changed(t testing.TB, s *mysqllease.Store, key string, from driver.Version, id string) driver.Version {
	t.Helper()
	res := change(t.Context(), s, key, driver.Change{From: from, ID: id, Data: []byte(id)})
	require.NoError(t, res.Err)
	require.Equal(t, driver.Done, res.Status)
	return res.Version
}
