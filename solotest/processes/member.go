package processes

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"net/rpc"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/solotick/solotick/internal/proctest"
	"github.com/solotick/solotick/internal/proxytest"
	"github.com/solotick/solotick/internal/skewtest"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/solotest/internal/observed"
	"github.com/solotick/solotick/solotest/internal/wire"
)

// member is one process of a fleet, as the test sees it.
type member struct {
	*proctest.Process
	name     string
	addrs    []string // of the servers, as the replica reaches them
	proxies  []*proxytest.Proxy
	output   *output
	ready    chan struct{}
	isReady  sync.Once
	expected atomic.Bool // its end
	over     chan struct{}
	pipes    wire.Pipes

	mu     sync.Mutex
	paused bool
}

// output keeps the text that a process prints.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// start starts a process, which is not ready yet.
func (f *Fleet) start(name string) (*member, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := &member{name: name, output: new(output), ready: make(chan struct{}), over: make(chan struct{})}
	if last := f.members[name]; last != nil {
		select {
		case <-last.Done():
		default:
			return nil, errors.New("it runs already")
		}
		last.close()
		m.addrs, m.proxies, m.output = last.addrs, last.proxies, last.output
	} else {
		m.approach(f.t, f.addrs)
	}
	toTest, err := newPipe()
	if err != nil {
		return nil, err
	}
	toReplica, err := newPipe()
	if err != nil {
		return nil, errors.Join(err, toTest.Close())
	}
	at, err := url.Parse(f.url)
	if err != nil {
		return nil, err
	}
	if f.url != "" {
		at.Host = m.addrs[0]
	}
	start, err := json.Marshal(wire.Start{
		Test: f.t.Name(), Call: f.call, Replica: name, URL: at.String(), Addrs: m.addrs, Namespace: f.namespace,
	})
	if err != nil {
		return nil, err
	}
	c := command(f.binary(name), f.t.Name())
	c.Env = append(os.Environ(), wire.Variable+"="+string(start), skewtest.Variable+"="+f.skews[name].String())
	c.Stdout, c.Stderr = m.output, m.output
	c.ExtraFiles = []*os.File{toReplica.In, toTest.Out}
	m.pipes = wire.Pipes{In: toTest.In, Out: toReplica.Out}
	server := rpc.NewServer()
	if err := server.RegisterName(wire.Service, &service{f, m}); err != nil {
		return nil, err
	}
	m.Process, err = proctest.Start(c)
	_, _ = toReplica.In.Close(), toTest.Out.Close() // the process has copies
	if err != nil {
		return nil, errors.Join(err, m.pipes.Close())
	}
	go server.ServeConn(m.pipes)
	f.members[name] = m
	return m, nil
}

// approach puts a proxy before each server.
func (m *member) approach(t *testing.T, servers []string) {
	for _, addr := range servers {
		if host, port, err := net.SplitHostPort(addr); err == nil && host != "" && port != "" {
			p := proxytest.New(t, addr)
			m.proxies, addr = append(m.proxies, p), p.Addr()
		}
		m.addrs = append(m.addrs, addr)
	}
}

func (m *member) eachProxy(do func(p *proxytest.Proxy)) {
	for _, p := range m.proxies {
		do(p)
	}
}

func newPipe() (p wire.Pipes, err error) {
	p.In, p.Out, err = os.Pipe()
	return p, err
}

// close ends the connection to a process that has ended.
func (m *member) close() {
	select {
	case <-m.over:
	default:
		close(m.over)
		_ = m.pipes.Close()
	}
}

func (m *member) ending() string {
	if m.Err() == nil {
		return "exit status 0"
	}
	return m.Err().Error()
}

// service has what a replica can ask of the test, by net/rpc.
type service struct {
	f *Fleet
	m *member
}

// Await returns when the test is over.
func (s *service) Await(wire.None, *wire.None) error {
	<-s.m.over
	return nil
}

// Ready says that the replica runs its jobs.
func (s *service) Ready(list []wire.Job, _ *wire.None) error {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	for _, job := range list {
		s.f.jobs[job.Name] = job
	}
	s.m.isReady.Do(func() { close(s.m.ready) })
	return nil
}

// Event says that a run begins or ends.
func (s *service) Event(e wire.Event, _ *wire.None) error {
	if !e.Ended {
		s.f.runs.Add(e.Run, e.At, nil)
		return nil
	}
	s.f.runs.Add(e.Run, e.At, &observed.Ending{Outcome: lease.Outcome(e.Outcome), Lost: e.Lost, Err: errorOf(e.Err)})
	return nil
}

func errorOf(text string) error {
	if text == "" {
		return nil
	}
	return errors.New(text)
}

// Stopped says how a run took the end of its context.
func (s *service) Stopped(e wire.Stopped, _ *wire.None) error {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	s.f.stopped = append(s.f.stopped, e)
	return nil
}

// Begin says that a write comes next, and returns its number. The replica may be frozen or killed
// before the answer reaches it.
func (s *service) Begin(w wire.Write, n *int) error {
	number, before := s.f.gate.inner.Begin()
	*n = number
	if before != nil {
		before(s.m.name)
	}
	return nil
}

// Apply makes a write. The answer is empty, or why it was refused.
func (s *service) Apply(w wire.Write, refused *string) error {
	run := w.Run
	if run.Replica == "" {
		run = jobs.Run{Replica: s.m.name}
	}
	after, err := s.f.gate.inner.Apply(observed.Effect{Run: run, Key: w.Key, Token: w.Token, At: time.Now().UTC()}, w.N, w.Once)
	if err != nil {
		*refused = err.Error()
	}
	if after != nil {
		after(s.m.name)
	}
	return nil
}
