package main

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/doctor"
	"github.com/solotick/solotick/lease/zklease"
)

func TestServersOfZooKeeperAreJudged(t *testing.T) {
	leads, follows := zklease.Server{Addr: "a:1", Version: "3.8.0", Mode: "leader"}, zklease.Server{Addr: "b:1", Version: "3.8.0", Mode: "follower"}
	for name, c := range map[string]struct {
		list             []zklease.Server
		servers, version doctor.Result
		says             [2]string
	}{
		"all answer":       {[]zklease.Server{leads, follows}, doctor.OK, doctor.OK, [2]string{"2 of 2 answer", "3.8.0 leader, 3.8.0 follower"}},
		"one is away":      {[]zklease.Server{leads, {Addr: "c:1", Err: errors.New("refused")}}, doctor.Warn, doctor.OK, [2]string{"1 of 2 answer; not c:1", "3.8.0 leader"}},
		"one is too old":   {[]zklease.Server{leads, {Addr: "c:1", Version: "3.5.9", TooOld: true}}, doctor.OK, doctor.Fail, [2]string{"2 of 2 answer", "3.8.0 leader, 3.5.9"}},
		"without the word": {[]zklease.Server{{Addr: "a:1"}}, doctor.OK, doctor.OK, [2]string{"1 of 1 answer", "no server says its version"}},
	} {
		t.Run(name, func(t *testing.T) {
			found := zooKeeperFindings(c.list)
			require.Equal(t, []doctor.Result{c.servers, c.version}, []doctor.Result{found[0].Result, found[1].Result})
			require.Equal(t, c.says[0], found[0].Finding)
			require.Contains(t, found[1].Finding, c.says[1])
		})
	}
}
