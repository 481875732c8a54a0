package proxytest

import (
	"slices"
	"strings"
	"time"
)

// Direction is one of the two ways through a connection.
type Direction int

const (
	// Requests go from client to server.
	Requests Direction = iota
	// Replies go from server to client.
	Replies

	directions = 2
)

// faults has the faults of the network. It is guarded by Proxy.mu.
type faults struct {
	lines   [directions]line
	cut     bool
	lose    int      // replies still to lose
	loseOf  []string // of these commands; empty means of any but those in setUp
	changed chan struct{}
}

// line has the faults of one direction.
type line struct {
	delay   time.Duration
	hold    bool
	swallow bool
}

// setUp are the commands by which clients prepare a connection.
var setUp = []string{"AUTH", "CLIENT", "HELLO", "PING", "READONLY", "SELECT"}

// Delay lets bytes arrive d after they were sent, in the directions given, or in both when none is.
// It is latency, not bandwidth: bytes that are sent together arrive together. Bytes under way feel
// the change too; 0 ends it.
func (p *Proxy) Delay(d time.Duration, in ...Direction) {
	p.change(func(f *faults) { f.each(in, func(l *line) { l.delay = d }) })
}

// Partition holds bytes back, in the directions given, or in both when none is: the peer receives
// nothing, not even that the other end has closed. [Proxy.Heal] delivers them all, late, as TCP
// does when a partition ends before either end gives up. So a command whose sender has long gone
// may still be executed.
func (p *Proxy) Partition(in ...Direction) {
	p.change(func(f *faults) { f.each(in, func(l *line) { l.hold, l.swallow = true, false }) })
}

// Blackhole swallows bytes for good, in the directions given, or in both when none is, while
// connections stay open. No network delivers a stream with a hole in it, so a connection that has
// lost bytes loses all that follow, and [Proxy.Heal] resets it.
func (p *Proxy) Blackhole(in ...Direction) {
	p.change(func(f *faults) { f.each(in, func(l *line) { l.hold, l.swallow = false, true }) })
}

// Cut resets all connections, and new ones as soon as they are accepted, until [Proxy.Heal]. When
// it returns, none of the connections passes anything more.
func (p *Proxy) Cut() {
	p.change(func(f *faults) { f.cut = true })
	p.resetConns(func(*conn) bool { return true })
}

// LoseReplies loses the next n replies: the server executes the command, and its client sees the
// connection close instead of the answer. With names of commands, only replies to these count.
// Without, replies to any command count but those that set a connection up (AUTH, CLIENT, HELLO,
// PING, READONLY, SELECT). Each lost reply takes with it the others of its connection that come
// later. A new call replaces the last one; 0 ends it.
//
// Replies are matched to commands by their order, so those on a connection that has subscribed, or
// that uses MONITOR or CLIENT REPLY, are never lost.
func (p *Proxy) LoseReplies(n int, commands ...string) {
	names := make([]string, len(commands))
	for i, c := range commands {
		names[i] = strings.ToUpper(c)
	}
	p.change(func(f *faults) { f.lose, f.loseOf = n, names })
}

// Heal ends every fault. Bytes that were held or delayed are delivered at once; connections that
// have lost bytes are reset.
func (p *Proxy) Heal() {
	p.change(func(f *faults) { *f = faults{changed: f.changed} })
	p.resetConns(func(c *conn) bool { return c.holed[Requests] || c.holed[Replies] })
}

// change applies a fault and wakes everything that waits under the old ones.
func (p *Proxy) change(apply func(*faults)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	apply(&p.faults)
	close(p.faults.changed)
	p.faults.changed = make(chan struct{})
}

func (f *faults) each(in []Direction, apply func(*line)) {
	for d := range f.lines {
		if len(in) == 0 || slices.Contains(in, Direction(d)) {
			apply(&f.lines[d])
		}
	}
}

// losesReply decides about the reply to a command, and counts it.
func (p *Proxy) losesReply(command string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := &p.faults
	picked := slices.Contains(f.loseOf, command) || len(f.loseOf) == 0 && !slices.Contains(setUp, command)
	if f.lose < 1 || !picked {
		return false
	}
	f.lose--
	p.counts.lost++
	return true
}
