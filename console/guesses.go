package console

import (
	"log/slog"
	"maps"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	guessBurst    = 5                // wrong tokens that may come at once, from an address, and that are logged at once
	guessInterval = 15 * time.Second // after which there may be one more
	maxGuessPeers = 4096
)

// guesses counts the wrong tokens that come, by login or as bearers. It bounds what they may write
// to the log, and notes which addresses send too many. It is safe for concurrent use.
type guesses struct {
	mu       sync.Mutex
	peers    map[string]time.Time // by when all that an address has sent are forgotten
	lines    time.Time            // by when all lines of the log are
	unlogged int                  // since the last line
}

// wrongToken returns the answer to a wrong token. A right one is always let in: behind a proxy an
// address is everyone's.
func (c *Console) wrongToken(r *http.Request, rule string) *problem {
	wait, logs, unlogged := c.guesses.add(peerOf(r), time.Now())
	if logs {
		c.options.logger.Warn("an unknown token was sent to the console",
			slog.String("address", peerOf(r)), slog.String("path", r.URL.Path), slog.Int("not_logged_before", unlogged))
	}
	if wait == 0 {
		return unauthorized(rule)
	}
	p := newProblem(http.StatusTooManyRequests, "too many wrong tokens have come from this address: wait")
	p.RetryMS = max(wait.Milliseconds(), 1)
	return p
}

// add counts a wrong token of an address. wait is how long the address should wait, 0 while it has
// not sent too many. logs says whether to log it, and unlogged how many were not since the last.
func (g *guesses) add(address string, now time.Time) (wait time.Duration, logs bool, unlogged int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.peers == nil {
		g.peers = map[string]time.Time{}
	}
	makeRoom(g.peers, maxGuessPeers, now)
	g.peers[address], wait = oneMore(g.peers[address], now)
	forgotten, logWait := oneMore(g.lines, now)
	if g.lines = forgotten; logWait > 0 {
		g.unlogged++
		return wait, false, 0
	}
	unlogged, g.unlogged = g.unlogged, 0
	return wait, true, unlogged
}

// oneMore counts one more at now. One is forgotten each [guessInterval]; forgotten is by when all
// are. wait is how long to wait where [guessBurst] are there.
func oneMore(forgotten, now time.Time) (_ time.Time, wait time.Duration) {
	if forgotten.Before(now) {
		forgotten = now
	}
	if wait = forgotten.Sub(now) - (guessBurst-1)*guessInterval; wait > 0 {
		return forgotten, wait
	}
	return forgotten.Add(guessInterval), 0
}

// makeRoom forgets what has ended where there are as many as there may be, and others where that is
// not enough.
func makeRoom(ends map[string]time.Time, most int, now time.Time) {
	if len(ends) < most {
		return
	}
	maps.DeleteFunc(ends, func(_ string, end time.Time) bool { return !end.After(now) })
	for name := range ends {
		if len(ends) < most {
			return
		}
		delete(ends, name)
	}
}

// peerOf returns the address of the client, without its port; of IPv6, the network of 64 bits, of
// which one client has all.
func peerOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	if ip := net.ParseIP(host); ip != nil && ip.To4() == nil {
		return ip.Mask(net.CIDRMask(64, 128)).String()
	}
	return host
}
