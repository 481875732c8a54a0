package quorum

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/solotick/solotick/internal/engine"
	"github.com/solotick/solotick/internal/protocol"
)

type options struct {
	timeout time.Duration
	ttl     time.Duration
	fresh   bool
}

// Option changes a default of [New].
type Option func(*options)

// WithTimeout bounds each call of the store, and each call of a node. The default is 2 s; at least
// 10 ms. A call in which no majority answers fails after this, or as soon as all nodes have failed.
// Choose it well below the shortest TTL.
func WithTimeout(d time.Duration) Option { return func(o *options) { o.timeout = d } }

// WithTTL says what the longest TTL is that anybody asks for in this namespace; longer ones are
// refused. The default is 30 s. A node that was started or emptied does not count until it has run
// for that long, and a little longer. All stores of a namespace need the same.
func WithTTL(longest time.Duration) Option { return func(o *options) { o.ttl = longest } }

// WithFreshStart says that nobody has used the namespace before. Every node has to answer, and none
// may have remembered for longer than a TTL; then they count nevertheless. It matters once, at the
// store's first call. Without it a new namespace can be used when the nodes have known it for a
// TTL.
//
// It is for tests, and for the first start ever. With it, a fleet whose nodes were all started or
// emptied within one TTL forgets the leases that were held before that.
func WithFreshStart() Option { return func(o *options) { o.fresh = true } }

// New makes a store over nodes, which are independent servers, at least three. An odd number is
// better: of four no more may be gone than of three. The same nodes have to be given to every store
// of the namespace, in any order. It does not connect yet.
//
// The namespace names the fleet, as with the other stores, and matches the pattern of a name. Nodes
// that have one (those of package redislease do) must have the same.
func New(list []Node, namespace string, opts ...Option) (*Store, error) {
	o := options{timeout: 2 * time.Second, ttl: 30 * time.Second}
	var faults []error
	for i, opt := range opts {
		if opt == nil {
			faults = append(faults, fmt.Errorf("quorum: options[%d]: nil must be an option", i))
			continue
		}
		opt(&o)
	}
	if len(list) < 3 {
		faults = append(faults, fmt.Errorf("quorum: %d nodes, must be at least 3: fewer cannot do without one", len(list)))
	}
	if !protocol.ValidName(namespace) {
		faults = append(faults, fmt.Errorf("quorum: namespace %q %s", namespace, protocol.NameRule))
	}
	for i, n := range list {
		if v := reflect.ValueOf(n); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
			faults = append(faults, fmt.Errorf("quorum: node %d is nil", i))
			continue
		}
		if its, ok := n.(interface{ Namespace() string }); ok && its.Namespace() != namespace {
			faults = append(faults, fmt.Errorf("quorum: namespace %q must be that of the nodes, and node %s has %q", namespace, n, its.Namespace()))
		}
	}
	if o.timeout < 10*time.Millisecond {
		faults = append(faults, fmt.Errorf("quorum: timeout %s must be at least 10ms", o.timeout))
	}
	if o.ttl < time.Millisecond {
		faults = append(faults, fmt.Errorf("quorum: longest TTL %s must be at least 1ms", o.ttl))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.Background())
	all := &nodes{
		list: append([]Node(nil), list...), timeout: o.timeout, quarantine: quarantine(o.ttl), fresh: o.fresh,
		life: life, end: end, about: make([]about, len(list)), clock: newClock(len(list)),
	}
	v := &values{registers: &registers{nodes: all}, longest: o.ttl}
	session, err := engine.NewSession(v, namespace, engine.Options{Hint: v.hint})
	if err != nil {
		end()
		return nil, err
	}
	return &Store{&store{session, v}}, nil
}

// quarantine is for how long a node does not count that has forgotten. The longest lease is kept
// for its drift, too. The clocks of the node and of those that remember may drift apart.
func quarantine(longest time.Duration) time.Duration { return longest + 2*drift(longest) }
