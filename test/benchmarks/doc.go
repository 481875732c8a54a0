// Package benchmarks compares Solotick with its peers in one run, on one machine. It is a module of
// its own, so that nobody who embeds Solotick inherits the peers.
//
//	make bench
//
// Compare ratios within a run; absolute figures depend on the machine, and on what else it does.
package benchmarks
