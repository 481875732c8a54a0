package protocol

import "context"

// Fact is something that operators have to know of a store.
type Fact struct {
	Check   string // what was looked at, in a word, such as "version"
	Finding string
	Change  string // what to change; "" when nothing is wrong
	Fails   bool   // of one with a change: the store does not work, or loses ticks
}

// Described is a [Checker] that says what operators have to know of its servers.
type Described interface {
	Checker
	// Addr returns where the servers are, without passwords.
	Addr() string
	// Facts asks the servers, and writes nothing.
	Facts(ctx context.Context) ([]Fact, error)
}
