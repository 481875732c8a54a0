// Package redisadvice judges the settings of a Redis server on which a fleet depends: from what
// INFO and CONFIG say, for the worker and for programs that embed a scheduler.
package redisadvice

import (
	"fmt"
	"strconv"
	"strings"
)

// Severity says how bad a finding is.
type Severity int

// The severities.
const (
	Fine    Severity = iota
	Warns            // it works, but loses data when something breaks
	Fails            // it does not work, or loses ticks
	Unknown          // the server does not say
)

// Finding is what a setting means for a fleet.
type Finding struct {
	Severity Severity
	Text     string
	Change   string // what to do; empty when nothing is wrong
}

// Fields reads the reply of INFO.
func Fields(info string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(info) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[key] = value
		}
	}
	if mode, ok := fields["server_mode"]; ok { // Valkey's name
		fields["redis_mode"] = mode
	}
	return fields
}

// Eviction judges whether Redis evicts records.
func Eviction(info map[string]string) Finding {
	policy, known := info["maxmemory_policy"]
	text := "maxmemory-policy is " + policy
	limit, _ := strconv.ParseInt(info["maxmemory"], 10, 64)
	switch {
	case !known:
		return Finding{Unknown, "could not be checked: the server does not report its maxmemory-policy", ""}
	case policy == "noeviction":
		return Finding{Fine, text, ""}
	case limit == 0:
		return Finding{Warns, text + ": it would evict records if maxmemory were set", "set maxmemory-policy noeviction"}
	}
	return Finding{Fails, text + ": Redis evicts records of jobs when memory runs out", "set maxmemory-policy noeviction, or use a Redis that is not a cache"}
}

// Persistence judges what a restart of the server loses. config reads a setting, or fails. It asks
// for few.
func Persistence(info map[string]string, quorum bool, config func(name string) (string, error)) Finding {
	lost := "No tick runs twice because of that while a replica is alive, but history, pauses and triggers are lost"
	if quorum {
		lost = "The other nodes have all records, but if most of them restart, history, pauses and triggers are lost"
	}
	const look, set = "see the log of Redis, and whether its disk is full", "set appendonly yes"
	if info["aof_enabled"] == "1" {
		if info["aof_last_write_status"] == "err" {
			return Finding{Fails, "the append-only file cannot be written: Redis refuses writes", look}
		}
		text := "append-only file"
		if sync, err := config("appendfsync"); err == nil {
			text += map[string]string{
				"always": ", each write on disk before its answer", "everysec": ": a crash of the machine loses a second at most",
				"no": ": a crash of the machine loses what the system has not written",
			}[sync]
		}
		return Finding{Fine, text, ""}
	}
	if info["rdb_last_bgsave_status"] == "err" {
		return Finding{Fails, "the last snapshot failed: Redis may refuse writes", look}
	}
	switch save, err := config("save"); {
	case err != nil:
		return Finding{Warns, "no append-only file: a restart goes back to the last snapshot, or loses all records. " + lost, set}
	case save == "":
		return Finding{Warns, "no persistence: a restart loses all records. " + lost, set}
	default:
		return Finding{Warns, fmt.Sprintf("snapshots only (save %s): a restart goes back to the last one. %s", save,
			strings.Replace(lost, "triggers are", "triggers since then are", 1)), set}
	}
}

// Messages judges whether replicas can notify each other, from the error of a try.
func Messages(err error) Finding {
	if err == nil {
		return Finding{Fine, "replicas can notify each other", ""}
	}
	return Finding{
		Warns, fmt.Sprintf("%v: replicas cannot notify each other, and learn of changes about a second later", err),
		"allow the user of Redis +subscribe, +publish and the channels &solotick:*, and on a Cluster what docs/operations.md lists under Rights",
	}
}
