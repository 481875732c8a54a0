package console

import (
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	loginBurst    = 5                // failed logins of one address before it has to wait
	loginInterval = 15 * time.Second // after which one more may be tried
	maxLoginPeers = 4096
)

// loginRate bounds how often an address may fail to log in. It is safe for concurrent use.
type loginRate struct {
	mu    sync.Mutex
	peers map[string]peer
}

// peer has the failures of an address, of which one is forgiven per [loginInterval].
type peer struct {
	failures int
	since    time.Time
}

// wait returns how long the client has to wait before it may try; 0 when it may now.
func (l *loginRate) wait(r *http.Request, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.peers[peerOf(r)].at(now)
	if p.failures < loginBurst {
		return 0
	}
	return p.since.Add(loginInterval).Sub(now)
}

// failed notes that the client's secret was wrong.
func (l *loginRate) failed(r *http.Request, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.peers == nil {
		l.peers = map[string]peer{}
	}
	if len(l.peers) >= maxLoginPeers {
		l.forgetLocked(now)
	}
	p := l.peers[peerOf(r)].at(now)
	if p.failures == 0 {
		p.since = now
	}
	p.failures++
	l.peers[peerOf(r)] = p
}

// forgetLocked makes room: it forgets those whose failures are forgiven, and any other one where
// none is.
func (l *loginRate) forgetLocked(now time.Time) {
	last := ""
	for name, p := range l.peers {
		if last = name; p.at(now).failures == 0 {
			delete(l.peers, name)
		}
	}
	if len(l.peers) >= maxLoginPeers {
		delete(l.peers, last)
	}
}

// at returns p less the attempts that are forgiven by now.
func (p peer) at(now time.Time) peer {
	forgiven := int(now.Sub(p.since) / loginInterval)
	if forgiven >= p.failures {
		return peer{}
	}
	return peer{failures: p.failures - forgiven, since: p.since.Add(time.Duration(forgiven) * loginInterval)}
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
