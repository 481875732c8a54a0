package zklease

import (
	"context"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// link is a connection with one of the servers, and the session on it. When a connection that
// answered requests breaks, its session ends, too: the next call connects again, with a session that
// has seen nothing.
type link struct {
	addrs   []string
	auth    string // user:password; "" for none
	timeout time.Duration

	flags  flags
	quit   context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	conn    *zk.Conn           // nil while there is none
	stop    context.CancelFunc // ends its dialing
	ready   chan struct{}      // closed while requests are answered
	up      bool               // whether it is closed
	era     uint64             // counts the sessions that have ended
	watches map[*watch]struct{}
}

func newLink(addrs []string, auth string, timeout time.Duration) *link {
	l := &link{addrs: addrs, auth: auth, timeout: timeout, ready: make(chan struct{}), watches: make(map[*watch]struct{})}
	l.quit, l.cancel = context.WithCancel(context.Background())
	return l
}

// session returns the connection once requests are answered, and the era of its session.
func (l *link) session(ctx context.Context) (*zk.Conn, uint64, error) {
	for {
		l.mu.Lock()
		if l.closed {
			l.mu.Unlock()
			return nil, 0, ErrClosed
		}
		if l.conn == nil {
			if err := l.connectLocked(); err != nil {
				l.mu.Unlock()
				return nil, 0, err
			}
		}
		conn, era, ready, up := l.conn, l.era, l.ready, l.up
		l.mu.Unlock()
		if up {
			return conn, era, nil
		}
		select {
		case <-ctx.Done():
			return nil, 0, unanswered{context.Cause(ctx), l.addrs}
		case <-ready:
		case <-l.quit.Done():
		}
	}
}

// present returns the era of the present session.
func (l *link) present() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.era
}

// connectLocked begins to connect, and tries until it has succeeded.
func (l *link) connectLocked() error {
	var conn *zk.Conn
	opened := make(chan struct{})
	dialing, stop := context.WithCancel(l.quit)
	conn, events, err := zk.Connect(l.addrs, l.timeout, zk.WithDialer(l.dialer(dialing)), zk.WithHostProvider(new(rotation)),
		zk.WithLogger(silent{}), zk.WithLogInfo(false), zk.WithEventCallback(func(e zk.Event) {
			<-opened
			l.receive(conn, e)
		}))
	close(opened)
	if err != nil {
		stop()
		return err
	}
	l.conn, l.stop = conn, stop
	l.wg.Go(func() {
		for range events { // until the connection's goroutines have ended
		}
		stop()
	})
	return nil
}

// receive takes an event of a connection. It must not block.
func (l *link) receive(conn *zk.Conn, e zk.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case conn != l.conn || l.closed:
	case e.Type == zk.EventSession && e.State == zk.StateHasSession:
		l.wg.Go(func() { l.begin(conn) })
	case e.Type == zk.EventSession && e.State == zk.StateDisconnected && l.up:
		l.loseLocked()
	case e.Type == zk.EventNodeCreated, e.Type == zk.EventNodeDeleted, e.Type == zk.EventNodeDataChanged, e.Type == zk.EventNodeChildrenChanged:
		for w := range l.watches {
			w.add(e.Path)
		}
	}
}

// loseLocked is for the end of a session: what was watched is not any more, and revisions of the
// next one are not compared with those before.
func (l *link) loseLocked() {
	l.stop() // before the library dials again
	l.wg.Go(l.conn.Close)
	l.conn, l.up, l.ready = nil, false, make(chan struct{})
	l.era++
	for w := range l.watches {
		w.end(errSessionEnded)
	}
}

// begin lets requests through once the session may make them, and its server has all that was seen
// on connections before. The connection may break before that; it comes again then.
func (l *link) begin(conn *zk.Conn) {
	if l.auth != "" {
		if err := conn.AddAuth("digest", []byte(l.auth)); err != nil {
			return // the server closes the connection
		}
	}
	for _, err := conn.Sync("/"); err != nil; _, err = conn.Sync("/") {
		select {
		case <-l.quit.Done():
		case <-time.After(20 * time.Millisecond):
		}
		if conn.State() != zk.StateHasSession || l.quit.Err() != nil {
			return
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if conn == l.conn && !l.up && !l.closed && conn.State() == zk.StateHasSession {
		l.up = true
		close(l.ready)
	}
}

func (l *link) close() {
	l.mu.Lock()
	closed, conn := l.closed, l.conn
	l.closed = true
	if !l.up {
		l.cancel() // there is nobody to take leave of
	}
	for w := range l.watches {
		w.end(ErrClosed)
	}
	l.mu.Unlock()
	if conn != nil && !closed {
		conn.Close()
	}
	l.cancel()
	l.wg.Wait()
}

// ask makes a request, and waits for its answer until ctx ends.
func ask[T any](ctx context.Context, l *link, request func(*zk.Conn) (T, error)) (answer T, era uint64, err error) {
	conn, era, err := l.session(ctx)
	if err != nil {
		return answer, 0, err
	}
	type reply struct {
		answer T
		err    error
	}
	replies := make(chan reply, 1)
	go func() {
		answer, err := request(conn)
		replies <- reply{answer, err}
	}()
	select {
	case r := <-replies:
		return r.answer, era, r.err
	case <-ctx.Done():
		return answer, 0, unanswered{context.Cause(ctx), l.addrs}
	}
}

// greeting is how long a server may take to accept a session; one that is frozen never does.
const greeting = 2 * time.Second

// dialer dials until ctx ends, and breaks the connection then.
func (l *link) dialer(ctx context.Context) zk.Dialer {
	return func(network, address string, timeout time.Duration) (net.Conn, error) {
		d := net.Dialer{Timeout: timeout}
		conn, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		p := &prompt{Conn: flagged{conn, &l.flags}}
		p.stop = context.AfterFunc(ctx, func() { _ = conn.Close() })
		return p, nil
	}
}

// prompt is a connection on which the first answer has to come soon. The library would wait for
// several times the session's timeout.
type prompt struct {
	net.Conn
	greeted bool
	stop    func() bool
}

func (p *prompt) SetReadDeadline(t time.Time) error {
	if !p.greeted {
		p.greeted, t = true, time.Now().Add(greeting)
	}
	return p.Conn.SetReadDeadline(t)
}

func (p *prompt) Close() error {
	p.stop()
	return p.Conn.Close()
}

// rotation offers the servers in turn. Their names are looked up each time, for an address may
// change while a process runs.
type rotation struct {
	mu      sync.Mutex
	servers []string
	next    int
	tried   int // since one has accepted a session
}

// Init implements zk.HostProvider.
func (r *rotation) Init(servers []string) error {
	r.servers, r.next = servers, rand.IntN(len(servers))
	return nil
}

// Len implements zk.HostProvider.
func (r *rotation) Len() int { return len(r.servers) }

// Next implements zk.HostProvider.
func (r *rotation) Next() (server string, again bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next = (r.next + 1) % len(r.servers)
	if again = r.tried == len(r.servers); again {
		r.tried = 0
	}
	r.tried++
	return r.servers[r.next], again
}

// Connected implements zk.HostProvider.
func (r *rotation) Connected() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tried = 0
}

// silent is for what the library would log: calls fail with it, or succeed in spite of it.
type silent struct{}

// Printf implements zk.Logger.
func (silent) Printf(string, ...any) {}
