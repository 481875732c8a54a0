package redisfence_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fence"
	"github.com/solotick/solotick/fence/redisfence"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/jobs"
)

// balances is a job's access to accounts that are in Redis.
type balances struct {
	client  redis.UniversalClient
	deposit *redisfence.Script
}

func (b *balances) run(ctx context.Context, run jobs.Run) error {
	balance, err := b.deposit.Run(ctx, b.client, run.Token, []string{"account:7"}, 50).Int64()
	if errors.Is(err, fence.ErrStale) {
		return jobs.Permanent(err) // another holder has been here: trying again is of no use
	}
	if err != nil {
		return err
	}
	fmt.Println("balance:", balance)
	return nil
}

func ExampleNewScript() {
	deposit, err := redisfence.NewScript(`return redis.call('INCRBY', KEYS[1], ARGV[1])`)
	fmt.Println(deposit != nil, err)
	key, err := redisfence.TokenKey("account:7")
	fmt.Println(key, err)
	// Output:
	// true <nil>
	// {account:7}:solotick:token <nil>
}

// The example's job, for an example cannot start a Redis.
func TestExampleJob(t *testing.T) {
	client := redistest.Start(t).Client(t)
	deposit, err := redisfence.NewScript(`return redis.call('INCRBY', KEYS[1], ARGV[1])`)
	require.NoError(t, err)
	b := &balances{client, deposit}
	require.NoError(t, b.run(t.Context(), jobs.Run{Token: 6}))
	require.ErrorIs(t, b.run(t.Context(), jobs.Run{Token: 5}), fence.ErrStale)
	require.Equal(t, "50", client.Get(t.Context(), "account:7").Val())
}
