package mysqllease_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/mysqllease"
)

// stopped is a connection of a process that is stopped when it has sent, or received, some bytes.
type stopped struct {
	net.Conn
	sends, receives *atomic.Int64 // how many more; below 0: no limit
}

func (c *stopped) Write(p []byte) (int, error) {
	n, err := c.within(c.sends, p, c.Conn.Write)
	if err == nil && n < len(p) {
		select {}
	}
	return n, err
}

func (c *stopped) Read(p []byte) (int, error) {
	n, err := c.within(c.receives, p, c.Conn.Read)
	if err == nil && n == 0 {
		select {}
	}
	return n, err
}

func (c *stopped) within(left *atomic.Int64, p []byte, f func([]byte) (int, error)) (int, error) {
	limit := left.Load()
	if limit < 0 {
		return f(p)
	}
	n, err := f(p[:min(limit, int64(len(p)))])
	left.Add(-int64(n))
	return n, err
}

// A process that is stopped while it sends, or receives, has its rows locked no longer than one that
// is stopped between.
func TestProcessStoppedInAMessageHoldsNothingLonger(t *testing.T) {
	t.Parallel()
	url := database(t)
	other := open(t, url)
	large := bytes.Repeat([]byte("x"), 8<<20)
	addr, name, _ := strings.Cut(strings.TrimPrefix(url, "mysql://root@"), "/")
	for _, which := range []string{"sends", "receives"} {
		t.Run(which, func(t *testing.T) {
			t.Parallel()
			key := "held-" + which
			v := changed(t, other, key, driver.Version{}, "before")
			if which == "receives" {
				require.Eventually(t, func() bool { // MySQL gives up on a sender that pauses for long, as a busy machine has it
					res := change(t.Context(), other, key, driver.Change{From: v, ID: "large", Data: large})
					if res.Err == nil {
						v = res.Version
					}
					return res.Err == nil
				}, 50*time.Second, time.Millisecond)
			}
			var sends, receives atomic.Int64
			sends.Store(-1)
			receives.Store(-1)
			c := mysql.NewConfig()
			c.User, c.Net, c.Addr, c.DBName = "root", "tcp", addr, name
			c.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
				made, err := new(net.Dialer).DialContext(ctx, network, addr)
				return &stopped{made, &sends, &receives}, err
			}
			s, err := mysqllease.New(c, "fleet", mysqllease.WithTimeout(time.Minute))
			require.NoError(t, err)
			read(t.Context(), s, "any")
			if which == "sends" {
				sends.Store(1 << 20)
			} else {
				receives.Store(1 << 20)
			}
			hasStopped := func() bool { return sends.Load() == 0 || receives.Load() == 0 }
			go func() {
				for !hasStopped() { // MySQL may have closed the connection before
					change(context.Background(), s, key, driver.Change{From: v, ID: "stopped", Data: large})
				}
			}()
			require.Eventually(t, hasStopped, 50*time.Second, time.Millisecond)
			changed(t, other, key, v, "after")
		})
	}
}

// Somebody has removed a row by hand. Its list is there still.
func TestListOutlivesARowRemovedByHand(t *testing.T) {
	t.Parallel()
	server, err := shared()
	require.NoError(t, err)
	url := database(t)
	s := open(t, url)
	v := driver.Version{}
	made := func(n int) {
		c := driver.Change{From: v, ID: fmt.Sprint("c", n), Data: []byte("x"), Append: []driver.Entry{{ID: fmt.Sprint("e", n), Max: 3}}}
		res := change(t.Context(), s, "job", c)
		require.NoError(t, res.Err)
		require.Equal(t, driver.Done, res.Status)
		v = res.Version
	}
	for n := range 5 {
		made(n)
	}
	run(t, server, "DELETE FROM "+url[strings.LastIndex(url, "/")+1:]+".solotick_item")
	v = driver.Version{}
	for n := 5; n < 10; n++ {
		made(n)
		list := s.Values().Do(t.Context(), []driver.Op{{Key: "job", Newest: 9}})[0].List
		require.Equal(t, fmt.Sprint("e", n), list[0].ID)
		require.Len(t, list, 3)
	}
}
