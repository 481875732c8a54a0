package etcdlease

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/solotick/solotick/internal/casstore"
	"github.com/solotick/solotick/internal/lane"
)

// medium keeps values under a prefix. It is a [casstore.Medium].
type medium struct {
	config  clientv3.Config
	prefix  string
	timeout time.Duration
	puts    lane.Lane[put, result]
	clock   clock

	opening chan struct{} // has one element, for who opens the client
	client  *clientv3.Client

	mu       sync.Mutex
	revision int64  // the greatest that was seen
	cluster  uint64 // whose that is
	back     chan struct{}
}

// maxReconnect bounds how long after a member's return the client is connected to it again: see
// protocol.ReturnGrace.
const maxReconnect = time.Second

// attempts are how often a call is made within its timeout: each by way of another member.
const attempts = 3

func newMedium(config clientv3.Config, prefix string, timeout time.Duration) (*medium, error) {
	config.DialTimeout = timeout
	// A member that is frozen is noticed by its silence. etcd allows no more than one ping in 5 s.
	config.DialKeepAliveTime, config.DialKeepAliveTimeout = 10*time.Second, 3*time.Second
	// gRPC waits for up to 2 min between its tries to connect; others of the fleet may be connected by then.
	connect := grpc.ConnectParams{MinConnectTimeout: min(timeout, maxReconnect), Backoff: backoff.Config{
		BaseDelay: maxReconnect / 10, Multiplier: 1.6, Jitter: 0.2, MaxDelay: maxReconnect / 2,
	}}
	config.DialOptions = append([]grpc.DialOption{grpc.WithConnectParams(connect)}, config.DialOptions...)
	if config.Logger == nil {
		config.Logger = zap.NewNop() // callers get the errors
	}
	m := &medium{config: config, prefix: prefix, timeout: timeout, opening: make(chan struct{}, 1), back: make(chan struct{})}
	m.puts.AtOnce, m.puts.Fits, m.puts.Send = mostFlights, fits, m.send
	var faults []error
	for i, e := range config.Endpoints {
		u, err := endpointURL(e, config.TLS != nil)
		if err != nil {
			faults = append(faults, fmt.Errorf("etcdlease: config.Endpoints[%d]: %q %w", i, e, err))
			continue
		}
		if u += "/version"; !slices.Contains(m.clock.urls, u) {
			m.clock.urls = append(m.clock.urls, u)
		}
	}
	m.clock.init(&http.Transport{TLSClientConfig: config.TLS.Clone(), MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute}, timeout)
	return m, errors.Join(faults...)
}

// endpointURL returns where an endpoint is reached by HTTP.
func endpointURL(endpoint string, secure bool) (string, error) {
	scheme := "http"
	if secure {
		scheme = "https"
	}
	if !strings.Contains(endpoint, "://") {
		endpoint = scheme + "://" + endpoint
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("must be HOST:PORT, or such a URL with http or https")
	}
	return u.Scheme + "://" + u.Host, nil
}

// open returns the client, which the first call makes.
func (m *medium) open(ctx context.Context) (*clientv3.Client, error) {
	select {
	case m.opening <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-m.opening }()
	if m.client == nil {
		config := m.config
		if end, ok := ctx.Deadline(); ok { // with a user it connects, and the call has to end
			if config.DialTimeout = min(config.DialTimeout, time.Until(end)); config.DialTimeout <= 0 {
				return nil, context.DeadlineExceeded
			}
		}
		c, err := clientv3.New(config)
		if err != nil {
			return nil, err
		}
		m.client = c
	}
	return m.client, nil
}

func (m *medium) close() {
	m.clock.close()
	m.puts.Close()
	m.opening <- struct{}{}
	defer func() { <-m.opening }()
	if m.client != nil {
		_ = m.client.Close()
		m.client = nil
	}
}

// call makes a call, by way of another member if one does not answer soon.
func (m *medium) call(ctx context.Context, f func(ctx context.Context, c *clientv3.Client) (*etcdserverpb.ResponseHeader, error)) error {
	m.clock.start()
	c, err := m.open(ctx)
	for tried := 0; err == nil; tried++ {
		m.mu.Lock()
		least := m.revision
		m.mu.Unlock()
		each, cancel := context.WithTimeout(ctx, m.timeout/attempts)
		var header *etcdserverpb.ResponseHeader
		header, err = f(each, c)
		late := each.Err() != nil
		cancel()
		if err == nil {
			return m.observe(header, least)
		}
		switch {
		case late && ctx.Err() == nil && tried+1 < attempts:
			err = nil
		case late:
			err = m.clock.explained(err)
		}
	}
	return m.at(err)
}

// at adds the addresses of the members to err.
func (m *medium) at(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", strings.Join(m.config.Endpoints, ","), err)
}

// observe notes the revision of an answer to a question that was asked when least had been seen.
func (m *medium) observe(h *etcdserverpb.ResponseHeader, least int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h.GetRevision() < least || m.cluster != 0 && h.GetClusterId() != m.cluster {
		if least <= m.revision { // the first to notice
			close(m.back)
			m.back = make(chan struct{})
		}
		m.revision, m.cluster = h.GetRevision(), h.GetClusterId()
		return fmt.Errorf("etcd: %w: it is at revision %d, after %d", casstore.ErrWentBack, h.GetRevision(), least)
	}
	m.revision, m.cluster = max(m.revision, h.GetRevision()), h.GetClusterId()
	return nil
}

func keptOf(kvs []*mvccpb.KeyValue) casstore.Kept {
	if len(kvs) == 0 {
		return casstore.Kept{}
	}
	return casstore.Kept{Data: kvs[0].Value, Revision: uint64(kvs[0].ModRevision)}
}

const (
	mostFlights = 4         // transactions of puts that are under way at once: etcd writes each to its disk
	mostBytes   = 512 << 10 // of data in one; etcd's own bound is 1.5 MiB
)

// Get implements [casstore.Medium].
func (m *medium) Get(ctx context.Context, keys []string) ([]casstore.Kept, error) {
	list := make([]casstore.Kept, 0, len(keys))
	for len(keys) > 0 {
		page := keys[:min(len(keys), lane.Most)]
		keys = keys[len(page):]
		ops := make([]clientv3.Op, len(page))
		for i, key := range page {
			ops[i] = clientv3.OpGet(m.prefix + key)
		}
		err := m.call(ctx, func(ctx context.Context, c *clientv3.Client) (*etcdserverpb.ResponseHeader, error) {
			if len(ops) == 1 {
				res, err := c.Get(ctx, m.prefix+page[0])
				if err != nil {
					return nil, err
				}
				list = append(list, keptOf(res.Kvs))
				return res.Header, nil
			}
			res, err := c.Txn(ctx).Then(ops...).Commit()
			if err != nil {
				return nil, err
			}
			for _, r := range res.Responses {
				list = append(list, keptOf(r.GetResponseRange().Kvs))
			}
			return res.Header, nil
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Exists implements [casstore.Medium].
func (m *medium) Exists(ctx context.Context, key string) (bool, error) {
	list, err := m.Get(ctx, []string{key})
	return err == nil && list[0].Revision != 0, err
}

// put is a change of one key.
type put struct {
	key  string
	data []byte
	from uint64
}

type result struct {
	present casstore.Kept
	ok      bool
}

// Put implements [casstore.Medium].
func (m *medium) Put(ctx context.Context, key string, data []byte, from uint64) (casstore.Kept, bool, error) {
	res, err := m.puts.Do(ctx, put{key, data, from})
	return res.present, res.ok, err
}

// fits reports whether a put can join others: no transaction has a key twice.
func fits(batch []*lane.Call[put, result], next *lane.Call[put, result]) bool {
	size := len(next.Request.data)
	for _, c := range batch {
		if size += len(c.Request.data); c.Request.key == next.Request.key {
			return false
		}
	}
	return size <= mostBytes
}

// send makes one transaction of several puts, each of which is made or not on its own.
func (m *medium) send(batch []*lane.Call[put, result]) error {
	ctx, cancel := context.WithTimeout(context.Background(), m.timeout)
	defer cancel()
	ops := make([]clientv3.Op, len(batch))
	for i, c := range batch {
		key := m.prefix + c.Request.key
		change := clientv3.OpPut(key, string(c.Request.data))
		if c.Request.data == nil {
			change = clientv3.OpDelete(key)
		}
		ops[i] = clientv3.OpTxn([]clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(key), "=", int64(c.Request.from))},
			[]clientv3.Op{change}, []clientv3.Op{clientv3.OpGet(key)})
	}
	return m.call(ctx, func(ctx context.Context, c *clientv3.Client) (*etcdserverpb.ResponseHeader, error) {
		res, err := c.Txn(ctx).Then(ops...).Commit()
		if err != nil {
			return nil, err
		}
		for i, r := range res.Responses {
			each, data, answer := r.GetResponseTxn(), batch[i].Request.data, &batch[i].Answer
			if answer.ok = each.Succeeded; !answer.ok {
				answer.present = keptOf(each.Responses[0].GetResponseRange().Kvs)
			} else if data != nil {
				answer.present = casstore.Kept{Data: data, Revision: uint64(res.Header.Revision)}
			}
		}
		return res.Header, nil
	})
}

// Keys implements [casstore.Medium]. The cursor is the key that was listed last.
func (m *medium) Keys(ctx context.Context, prefix, cursor string, count int) (keys []string, next string, err error) {
	first, end := m.prefix+prefix, clientv3.GetPrefixRangeEnd(m.prefix+prefix)
	if cursor != "" {
		first = m.prefix + cursor + "\x00"
	}
	err = m.call(ctx, func(ctx context.Context, c *clientv3.Client) (*etcdserverpb.ResponseHeader, error) {
		keys, next = nil, ""
		res, err := c.Get(ctx, first, clientv3.WithRange(end), clientv3.WithLimit(int64(count)), clientv3.WithKeysOnly())
		if err != nil {
			return nil, err
		}
		for _, kv := range res.Kvs {
			keys = append(keys, strings.TrimPrefix(string(kv.Key), m.prefix))
		}
		if res.More && len(keys) > 0 {
			next = keys[len(keys)-1]
		}
		return res.Header, nil
	})
	return keys, next, err
}

// Watch implements [casstore.Medium].
func (m *medium) Watch(ctx context.Context, changed func(string, casstore.Kept), missed func()) error {
	c, err := m.open(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	m.mu.Lock()
	back := m.back
	m.mu.Unlock()
	events := c.Watch(ctx, m.prefix, clientv3.WithPrefix(), clientv3.WithCreatedNotify())
	for {
		select {
		case <-back: // the watch would wait for the revision that it had come to
			return casstore.ErrWentBack
		case res, ok := <-events:
			switch {
			case !ok:
				return errors.Join(context.Cause(ctx), errWatchEnded)
			case res.Err() != nil:
				return res.Err()
			case res.Created:
				missed()
			}
			for _, e := range res.Events {
				kept := casstore.Kept{}
				if e.Type == mvccpb.Event_PUT {
					kept = casstore.Kept{Data: e.Kv.Value, Revision: uint64(e.Kv.ModRevision)}
				}
				changed(strings.TrimPrefix(string(e.Kv.Key), m.prefix), kept)
			}
		}
	}
}

var errWatchEnded = errors.New("the watch has ended")

// Clock implements [casstore.Medium].
func (m *medium) Clock(ctx context.Context) (time.Time, error) {
	now, err := m.clock.now(ctx)
	return now, m.at(err)
}
