package etcdlease

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/solotick/solotick/internal/storekit"
)

// Facts are what an operator looks at.
type Facts struct {
	Members []Member
	Alarms  []string // such as NOSPACE, by the member that raises it
}

// Member is what a member of etcd says of itself.
type Member struct {
	Endpoint string
	Version  string
	TooOld   bool  // for this package
	Leader   bool  // it leads, or follows a leader
	Size     int64 // of its database, in bytes
	Quota    int64 // that the database may grow to; 0 when the member does not say
	Err      error // it has not answered; all else is zero
	// Ahead is by how much its clock is ahead of this machine's, if that is known by more than
	// Uncertain.
	Ahead, Uncertain time.Duration
}

// Facts asks each member that the store was given. The error is of all of them.
func (s *Store) Facts(ctx context.Context) (Facts, error) {
	ctx, cancel := context.WithTimeout(ctx, s.medium.timeout)
	defer cancel()
	c, err := s.medium.open(ctx)
	if err != nil {
		return Facts{}, fmt.Errorf("etcdlease: facts: %w", err)
	}
	f := Facts{Members: make([]Member, len(s.medium.clock.urls))}
	var asked sync.WaitGroup
	for i, endpoint := range c.Endpoints() {
		asked.Go(func() { f.Members[i] = s.member(ctx, c, endpoint, s.medium.clock.urls[i]) })
	}
	asked.Wait()
	alarms, err := c.AlarmList(ctx)
	if err != nil {
		return f, fmt.Errorf("etcdlease: facts: %w", err)
	}
	for _, a := range alarms.Alarms {
		if a.Alarm != etcdserverpb.AlarmType_NONE {
			f.Alarms = append(f.Alarms, a.Alarm.String())
		}
	}
	return f, nil
}

func (s *Store) member(ctx context.Context, c *clientv3.Client, endpoint, url string) Member {
	m := Member{Endpoint: endpoint}
	res, err := c.Status(ctx, endpoint)
	if err != nil {
		m.Err = err
		return m
	}
	m.Version, m.Size, m.Quota, m.Leader = res.Version, res.DbSize, res.DbSizeQuota, res.Leader != 0
	m.TooOld = storekit.Older(res.Version, 3, 5)
	if at, known := s.medium.clock.Middle(url); known {
		m.Ahead, m.Uncertain = time.Until(at), s.medium.clock.Spread(url)/2
	}
	return m
}
