package lock_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lock"
)

func TestNamesAreValidAndDifferWithTheirParts(t *testing.T) {
	part := rapid.OneOf(
		rapid.String(),
		rapid.StringOfN(rapid.RuneFrom([]rune(".._-_2e0a")), 0, 6, -1),
		rapid.StringOfN(rapid.RuneFrom([]rune("ab:/")), 60, 200, -1),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 9), func(b []byte) string { return string(b) }),
	)
	parts := rapid.SliceOfN(part, 0, 4)
	rapid.Check(t, func(r *rapid.T) {
		a, b := parts.Draw(r, "a"), parts.Draw(r, "b")
		one, other := lock.Name(a...), lock.Name(b...)
		require.True(r, protocol.ValidName(one), one)
		require.Equal(r, one, lock.Name(slices.Clone(a)...))
		require.Equal(r, slices.Equal(a, b), one == other, "%q %q: %s %s", a, b, one, other)
	})
}

// A lock has the same name in each release.
func TestNamesStayWhatTheyAre(t *testing.T) {
	for want, parts := range map[string][]string{
		"user..1":                      {"user", "1"},
		"billing_3anightly":            {"billing:nightly"},
		"main_2e_28_2aMailer_29_2eRun": {"main.(*Mailer).Run"},
		"0.":                           {""},
		"0.0":                          {},
		"0...a":                        {"", "a"},
		"0._5fx":                       {"_x"},
		"0._2dx":                       {"-x"},
		"a....b-c":                     {"a", "", "b-c"},
		strings.Repeat("k", 93) + "._.nxr4fcdjca3tmglcaqpse47tqfsydb7e": {strings.Repeat("k", 200)},
	} {
		require.Equal(t, want, lock.Name(parts...))
	}
}

func TestNameOfALockIsCheckedWithAdvice(t *testing.T) {
	locks := lock.New(new(memlease.Store))
	defer locks.Close()
	_, err := locks.Mutex("user:1").TryAcquire(t.Context())
	require.EqualError(t, err, `lock: name: "user:1" must start with a letter or digit and hold at most 128 of A-Z a-z 0-9 . _ -; `+
		`lock.Name makes a name of any strings`)
	h, err := locks.Mutex(lock.Name("user", "1")).TryAcquire(t.Context())
	require.NoError(t, err)
	require.NoError(t, h.Release(t.Context()))
}

func TestMutexTakenTwiceSaysThatItIsOneself(t *testing.T) {
	locks := lock.New(new(memlease.Store))
	defer locks.Close()
	h, err := locks.Mutex("m").Acquire(t.Context())
	require.NoError(t, err)
	const self = "this process itself holds it: see lock.Reentrant"
	_, err = locks.Mutex("m").TryAcquire(t.Context())
	require.ErrorContains(t, err, self)
	require.ErrorIs(t, err, lease.ErrHeld)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	_, err = locks.Mutex("m").Acquire(ctx)
	require.ErrorContains(t, err, self)

	require.NoError(t, h.Release(t.Context()))
	other := lock.New(new(memlease.Store), nil)
	defer other.Close()
	_, err = other.Mutex("m", nil).TryAcquire(t.Context())
	require.EqualError(t, err, "lock: options[0]: nil must be an option\nlock: options[0]: nil must be an option")
	_, err = lock.New((*memlease.Store)(nil)).Mutex("m").TryAcquire(t.Context())
	require.EqualError(t, err, `lock: store: nil must be a store`)
}
