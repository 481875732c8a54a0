package console

import (
	"log/slog"
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
	peers    map[string]bucket
	lines    bucket // of the log
	unlogged int    // since the last line
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
		g.peers = map[string]bucket{}
	}
	if len(g.peers) >= maxGuessPeers {
		g.forgetLocked(now)
	}
	var within bool
	if g.peers[address], within = g.peers[address].add(now); !within {
		wait = g.peers[address].since.Add(guessInterval).Sub(now)
	}
	if g.lines, logs = g.lines.add(now); !logs {
		g.unlogged++
		return wait, false, 0
	}
	unlogged, g.unlogged = g.unlogged, 0
	return wait, true, unlogged
}

// forgetLocked makes room: it forgets the addresses that may send as many as any other, and one more
// where none may.
func (g *guesses) forgetLocked(now time.Time) {
	last := ""
	for address, b := range g.peers {
		if last = address; b.at(now).count == 0 {
			delete(g.peers, address)
		}
	}
	if len(g.peers) >= maxGuessPeers {
		delete(g.peers, last)
	}
}

// bucket counts to [guessBurst], and forgets one each [guessInterval].
type bucket struct {
	count int
	since time.Time
}

// add counts one more at now, and reports whether there was room.
func (b bucket) add(now time.Time) (bucket, bool) {
	b = b.at(now)
	if b.count >= guessBurst {
		return b, false
	}
	if b.count == 0 {
		b.since = now
	}
	b.count++
	return b, true
}

// at returns b less what is forgotten by now.
func (b bucket) at(now time.Time) bucket {
	forgotten := int(now.Sub(b.since) / guessInterval)
	if forgotten >= b.count {
		return bucket{}
	}
	return bucket{count: b.count - forgotten, since: b.since.Add(time.Duration(forgotten) * guessInterval)}
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
