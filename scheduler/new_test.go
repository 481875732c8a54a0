package scheduler_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/scheduler"
)

func TestNewReportsAllFaultsAtOnce(t *testing.T) {
	_, err := scheduler.New(nil, nil,
		scheduler.WithReplica("a b"), scheduler.WithTTL(time.Millisecond), scheduler.WithShutdownGrace(-time.Second),
		scheduler.WithGroups("eu", "u s"))
	for _, fault := range []string{
		"scheduler: store: ", "must not be nil",
		`scheduler: replica: "a b" must start with`,
		`scheduler: ttl: "1ms" must be from 100ms to 24h`,
		`scheduler: shutdown grace: "-1s" must be at least 0s`,
		`scheduler: group: "u s" must start with`,
	} {
		require.ErrorContains(t, err, fault)
	}
	require.Len(t, strings.Split(err.Error(), "\n"), 5)
}

func TestNewAcceptsTheBoundsOfItsOptions(t *testing.T) {
	for _, option := range []scheduler.Option{
		scheduler.WithTTL(100 * time.Millisecond), scheduler.WithTTL(24 * time.Hour), scheduler.WithShutdownGrace(0),
		scheduler.WithReplica(strings.Repeat("a", 128)), scheduler.WithGroups(),
	} {
		_, err := scheduler.New(new(memlease.Store), nil, option)
		require.NoError(t, err)
	}
	for _, option := range []scheduler.Option{
		scheduler.WithTTL(100*time.Millisecond - 1), scheduler.WithTTL(24*time.Hour + 1), scheduler.WithShutdownGrace(-1),
		scheduler.WithReplica(strings.Repeat("a", 129)), scheduler.WithReplica(""),
	} {
		_, err := scheduler.New(new(memlease.Store), nil, option)
		require.Error(t, err)
	}
}

func TestEachReplicaHasAnIdOfItsOwn(t *testing.T) {
	a, err := scheduler.New(new(memlease.Store), nil)
	require.NoError(t, err)
	b, err := scheduler.New(new(memlease.Store), nil)
	require.NoError(t, err)
	require.NotEqual(t, a.Replica(), b.Replica())
	require.Regexp(t, `^replica-[a-z0-9]{8}$`, a.Replica())
	require.False(t, a.Ready())
	require.Empty(t, a.Jobs())
}
