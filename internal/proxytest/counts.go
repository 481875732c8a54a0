package proxytest

import "maps"

// counts is guarded by Proxy.mu.
type counts struct {
	connections int
	bytes       [directions]int64
	commands    map[string]int
	roundTrips  int
	lost        int
}

func newCounts() counts { return counts{commands: make(map[string]int)} }

// Connections returns how many connections clients have opened, with those that were reset at once.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts.connections
}

// Bytes returns how many bytes have come to the proxy in a direction, whether or not they were
// passed on.
func (p *Proxy) Bytes(d Direction) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts.bytes[d]
}

// Commands returns how many commands clients have sent, those in pipelines and those that never
// arrived included.
func (p *Proxy) Commands() int {
	total := 0
	for _, n := range p.CommandsByName() {
		total += n
	}
	return total
}

// CommandsByName returns the same by name, such as EVALSHA, in upper case. The map is the caller's.
func (p *Proxy) CommandsByName() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.counts.commands)
}

// RoundTrips returns how often a client has sent something while it waited for no reply: a
// pipeline, sent at once, counts as one.
func (p *Proxy) RoundTrips() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts.roundTrips
}

// RepliesLost returns how many replies [Proxy.LoseReplies] has lost.
func (p *Proxy) RepliesLost() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts.lost
}

// ResetCounts sets every count to 0, for a test that counts from here.
func (p *Proxy) ResetCounts() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts = newCounts()
}

func (p *Proxy) countCommands(names []string, roundTrips int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range names {
		p.counts.commands[name]++
	}
	p.counts.roundTrips += roundTrips
}
