package console

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/notified"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
)

// Console serves the pages and the API of a fleet. It is an [http.Handler], safe for concurrent
// use.
type Console struct {
	options options
	store   lease.Store
	fleet   *fleet.Fleet

	tokens   *tokens // nil without tokens
	sessions sessions
	guesses  guesses

	monitor     *fleet.Monitor
	watching    watching
	background  *background
	snapshot    *shared[*reading]
	last        atomic.Pointer[reading] // the last that succeeded
	failing     atomic.Bool             // the last read failed
	definitions definitions             // of the reads of the snapshot
	locks       *shared[lockList]
	facts       *shared[[]fleet.Fact]
	described   keyed[fleet.Description]
	histories   keyed[fleet.JobHistory]
	examination *shared[examined]                  // nil without checks
	several     keyed[map[string]fleet.JobHistory] // by their names, one a line
	kept        keptHistories                      // what is read of several
	fragments   fragments
	notified    *shared[*notified.Head] // its value is nil where the store keeps nothing of notifications
	progress    keyed[notified.Job]
	events      *eventLog
	streams     streams

	mux *http.ServeMux
}

type options struct {
	jobs     func() []*jobs.Job
	access   func(*http.Request) Caller
	tokens   []Token
	readOnly bool
	prefix   string
	logger   *slog.Logger
	limits   limits
	examine  func(context.Context) (Examination, error)
}

// Option changes a default of [New].
type Option func(*options)

// WithJobs says which jobs this program defines: it is called for each read of the fleet, and must
// not block. Without it the jobs are those that the store and live replicas know, with less about
// each.
func WithJobs(jobs func() []*jobs.Job) Option { return func(o *options) { o.jobs = jobs } }

// WithTokens lets in callers with one of the tokens: programs as bearers, people by a login form.
// It does not encrypt anything: serve it over TLS, or to this machine only. The list is empty or
// valid as a whole; nothing is let in without tokens but what the package comment says.
func WithTokens(tokens ...Token) Option { return func(o *options) { o.tokens = tokens } }

// WithAccess leaves it to the program who may do what: access is called for each request, and may
// be called at any time. A caller without a role gets nothing. It takes the place of tokens.
func WithAccess(access func(*http.Request) Caller) Option {
	return func(o *options) { o.access = access }
}

// WithReadOnly refuses every change, also to those with the role [Operate].
func WithReadOnly() Option { return func(o *options) { o.readOnly = true } }

// WithPrefix is the path that the console is mounted under, such as /cron, where nothing else
// removes it: not with [http.StripPrefix].
func WithPrefix(prefix string) Option { return func(o *options) { o.prefix = prefix } }

// WithLogger says where failures of the store, of token files and of logins are logged. The default
// logs nothing. No token is ever logged.
func WithLogger(logger *slog.Logger) Option { return func(o *options) { o.logger = logger } }

// New makes a console of the fleet that shares a store. It reads nothing from the store until a
// request does. The error joins every fault of the options.
func New(store lease.Store, opts ...Option) (*Console, error) {
	c := &Console{store: store, options: options{
		jobs: func() []*jobs.Job { return nil }, logger: slog.New(slog.DiscardHandler), limits: defaultLimits,
	}}
	var faults []error
	for i, opt := range opts {
		if opt == nil {
			faults = append(faults, fmt.Errorf("console: options[%d]: nil, must be an option", i))
			continue
		}
		opt(&c.options)
	}
	faults = append(faults, c.options.check())
	var err error
	if c.fleet, err = fleet.New(store); err != nil {
		faults = append(faults, err)
	}
	if len(c.options.tokens) > 0 && c.options.logger != nil {
		if c.tokens, err = newTokens(c.options.tokens, c.options.logger); err != nil {
			faults = append(faults, err)
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	c.background, c.events, c.monitor = newBackground(), newEventLog(), c.fleet.Monitor()
	c.snapshot = &shared[*reading]{in: c.background, read: c.readSnapshot}
	c.locks = &shared[lockList]{in: c.background, read: c.readLocks}
	c.facts = &shared[[]fleet.Fact]{in: c.background, read: c.readFacts}
	c.described = keyed[fleet.Description]{in: c.background, read: c.describe}
	c.histories = keyed[fleet.JobHistory]{in: c.background, read: c.readHistory}
	c.several = keyed[map[string]fleet.JobHistory]{in: c.background, read: c.readHistories, most: 8}
	if c.options.examine != nil {
		c.examination = &shared[examined]{in: c.background, read: c.examine, every: examineInterval, share: examineShare}
	}
	c.notified = &shared[*notified.Head]{in: c.background, read: c.readNotified}
	c.progress = keyed[notified.Job]{in: c.background, read: c.readProgress}
	c.mux = mux()
	return c, nil
}

func (o *options) check() error {
	var faults []error
	if o.jobs == nil {
		faults = append(faults, errors.New("console: jobs: nil, must be a function"))
	}
	if o.logger == nil {
		faults = append(faults, errors.New("console: logger: nil, must be a logger"))
	}
	if o.access != nil && len(o.tokens) > 0 {
		faults = append(faults, errors.New("console: access: must not be given beside tokens: one of them says who may"))
	}
	if p := o.prefix; p != "" && (!strings.HasPrefix(p, "/") || strings.HasSuffix(p, "/") || !isClean(p)) {
		faults = append(faults, fmt.Errorf("console: prefix: %q must be a clean path such as /cron, without a slash at its end", p))
	}
	return errors.Join(faults...)
}

// Close ends every stream, and ends reads and waits for them; later requests are answered with 503.
// Streams outlast the shutdown of a server unless this is called, for example by
// [http.Server.RegisterOnShutdown]. It can be called more than once.
func (c *Console) Close() { c.background.close() }

// maxBody bounds the body of a request, in bytes.
const maxBody = 64 << 10

// limits are bounds that tests lower.
type limits struct {
	streams        int           // at once
	streamInterval time.Duration // how often a stream says something, so that each end notices when the other is gone
	streamWrite    time.Duration // of one write to a stream: a reader that is slower than that is dropped
	request        time.Duration // of one that is no stream
}

var defaultLimits = limits{streams: 2000, streamInterval: 2 * time.Second, streamWrite: 10 * time.Second, request: 15 * time.Second}
