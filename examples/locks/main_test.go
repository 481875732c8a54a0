package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fence"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/lock"
)

// lines keeps what several write.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// shops runs three replicas until ctx ends; one of them ends earlier, after a third of the time. stores has one for each.
func shops(ctx context.Context, t *testing.T, lasts time.Duration, stores []lease.Store, stocks []stock) string {
	ctx, stop := context.WithTimeout(ctx, lasts)
	defer stop()
	short, stopFirst := context.WithTimeout(ctx, lasts/3)
	defer stopFirst()
	out := new(lines)
	var replicas sync.WaitGroup
	for i := range stores {
		replicas.Go(func() {
			s := &shop{name: fmt.Sprint("shop-", i), locks: lock.New(stores[i]), stock: stocks[i], out: out}
			defer s.locks.Close()
			if i == 0 {
				require.NoError(t, s.run(short))
				return
			}
			time.Sleep(100 * time.Millisecond) // the first leads by then
			require.NoError(t, s.run(ctx))
		})
	}
	replicas.Wait()
	return out.text.String()
}

// judge reads what the shops wrote: what they sold, and whether the limits were kept.
func judge(t *testing.T, text string) (sold, ttls int) {
	t.Helper()
	paying, leading := 0, 0
	for scan := bufio.NewScanner(bytes.NewBufferString(text)); scan.Scan(); {
		var name, verb string
		var n int
		_, err := fmt.Sscan(scan.Text(), &name, &verb)
		require.NoError(t, err, scan.Text())
		switch verb {
		case "pays":
			paying++
		case "paid":
			paying--
		case "leads,":
			leading++
			ttls++
		case "leads":
			leading--
		case "sold":
			_, err := fmt.Sscanf(scan.Text(), "%s sold %d", &name, &n)
			require.NoError(t, err, scan.Text())
			sold += n
		default:
			require.Fail(t, "unexpected", scan.Text())
		}
		require.LessOrEqual(t, paying, atOnce, "calls of the partner at once:\n%s", text)
		require.LessOrEqual(t, leading, 1, "leaders:\n%s", text)
	}
	require.Zero(t, leading)
	return sold, ttls
}

func TestShopsShareStockPartnerAndManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, stock := new(memlease.Store), new(memoryStock)
		text := shops(t.Context(), t, time.Minute, []lease.Store{store, store, store}, repeat(stock))
		sold, ttls := judge(t, text)
		require.Greater(t, sold, 500)
		require.Zero(t, (sold+stock.count)%delivery, "what was delivered was sold or is there")
		require.Equal(t, 2, ttls, "the first leader, and its successor")

		_, err := stock.add(t.Context(), 1, -1)
		require.ErrorIs(t, err, fence.ErrStale)
	})
}

func TestTheShopsMayHaveRedis(t *testing.T) {
	server := redistest.Start(t)
	var stores []lease.Store
	var stocks []stock
	for range 3 {
		client := redis.NewClient(&redis.Options{Addr: server.Addr()})
		store, err := redislease.New(client, "default")
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, errors.Join(store.Close(), client.Close())) })
		stock, err := newRedisStock(client)
		require.NoError(t, err)
		stores, stocks = append(stores, store), append(stocks, stock)
	}
	sold, ttls := judge(t, shops(t.Context(), t, 2*time.Second, stores, stocks))
	require.Positive(t, sold)
	require.Positive(t, ttls)
	left, err := server.Client(t).Get(t.Context(), "shop:stock").Int()
	require.NoError(t, err)
	require.Zero(t, (sold+left)%delivery, "what was delivered was sold or is there")
}

func repeat(s stock) []stock { return []stock{s, s, s} }
